-- job_details: where a job is and all that is known of it, for detail and list.
-- INCLUDES record has_expired ready
local function find_state(id)
  for name, set in pairs({working = working, delayed = delayed, retry = retry, dead = dead, completed = completed,
    blocked = blocked, grouped = grouped}) do
    local score = redis.call('ZSCORE', set, id)
    if score then return name, score end
  end
  return 'ready', ''
end

-- → {id, state, score, record, run, priority, result bytes or -1, body bytes}; nil if there is no such job, or it has
-- expired. With `preview` the record is cut after so many bytes of its body. `known`: its state, if that is known, and `set`
-- where such jobs are (nil: ready). `raw`: its record, if that has been read.
local function look(id, preview, known, set, raw)
  local raw_run = redis.call('HGET', runs, id)
  local expires = expiry_of(id, raw_run)
  if not expires then return nil end
  local state, score = known, set and redis.call('ZSCORE', set, id) or ''
  if not known then state, score = find_state(id) end
  if is_waiting(state) and has_expired(expires) then return nil end
  raw = raw or redis.call('HGET', jobs, id)
  local _, _, _, _, body_at = unpack_record(raw)
  local size = #raw - body_at + 1
  if preview then raw = string.sub(raw, 1, body_at - 1 + preview) end
  return {id, state, score, raw, raw_run or '', priority_of(id),
    redis.call('HEXISTS', results, id) == 1 and redis.call('HSTRLEN', results, id) or -1, size}
end
