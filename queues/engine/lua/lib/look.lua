-- look: where a job is and all that is known of it, for detail and list.
-- → {id, state, score, record, run, priority, result bytes or -1, body bytes}; nil if there is no such job. With `preview`
-- the record is cut after so many bytes of its body.
-- INCLUDES record ready
local function look(id, preview)
  local raw = redis.call('HGET', jobs, id)
  if not raw then return nil end
  local state, score = 'ready', ''
  for name, set in pairs({working = working, delayed = delayed, retry = retry, dead = dead, completed = completed}) do
    local at = redis.call('ZSCORE', set, id)
    if at then
      state, score = name, at
      break
    end
  end
  local _, _, _, _, body_at = unpack_record(raw)
  local size = #raw - body_at + 1
  if preview then raw = string.sub(raw, 1, body_at - 1 + preview) end
  return {id, state, score, raw, redis.call('HGET', runs, id) or '', priority_of(id),
    redis.call('HEXISTS', results, id) == 1 and redis.call('HSTRLEN', results, id) or -1, size}
end
