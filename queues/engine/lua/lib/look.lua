-- look: where a job is and all that is known of it, for detail and list.
-- → {id, state, score, record, run, priority, result bytes or -1, body bytes}; nil if there is no such job. With `preview`
-- the record is cut after so many bytes of its body.
-- INCLUDES record
local SETS = {'working', 'delayed', 'retry', 'dead', 'completed'}

local function look(K, id, preview)
  local raw = redis.call('HGET', K.jobs, id)
  if not raw then return nil end
  local state, score = 'ready', ''
  for _, set in ipairs(SETS) do
    local at = redis.call('ZSCORE', K[set], id)
    if at then
      state, score = set, at
      break
    end
  end
  local _, _, _, _, body_at = unpack_record(raw)
  local size = #raw - body_at + 1
  if preview then raw = string.sub(raw, 1, body_at - 1 + preview) end
  return {id, state, score, raw, redis.call('HGET', K.runs, id) or '', tonumber(redis.call('HGET', K.priorities, id) or 0),
    redis.call('HEXISTS', K.results, id) == 1 and redis.call('HSTRLEN', K.results, id) or -1, size}
end
