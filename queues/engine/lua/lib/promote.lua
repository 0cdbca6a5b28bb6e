-- promote: moves due jobs of one queue to ready, in order of their due times (edges E and J). At most `limit`.
-- INCLUDES ready due events
-- → number moved, next due time of the queue or nil
local function promote_jobs(K, queue, now, limit)
  local due = {}
  for _, state in ipairs({'delayed', 'retry'}) do
    local found = redis.call('ZRANGEBYSCORE', K[state], '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
    for i = 1, #found, 2 do due[#due + 1] = {found[i], tonumber(found[i + 1]), state} end
  end
  if #due == 0 then return 0, reset_index(K.due, queue, K.delayed, K.retry) end
  table.sort(due, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  local moved = math.min(#due, limit)
  local leaving, ids = {delayed = {}, retry = {}}, {}
  for i = 1, moved do
    local id, at, state = due[i][1], due[i][2], due[i][3]
    local list = leaving[state]
    list[#list + 1] = id
    ids[i] = id
    emit('ready', id, '', now - at, '', '', '', '')
  end
  for state, list in pairs(leaving) do
    if #list > 0 then redis.call('ZREM', K[state], unpack(list)) end
  end
  if redis.call('EXISTS', K.priorities) == 0 then
    redis.call('RPUSH', K.ready, unpack(ids))
  else
    local priorities = redis.call('HMGET', K.priorities, unpack(ids))
    for i, id in ipairs(ids) do put_ready(K.ready, K.prio, id, tonumber(priorities[i] or 0), now) end
  end
  return moved, reset_index(K.due, queue, K.delayed, K.retry)
end
