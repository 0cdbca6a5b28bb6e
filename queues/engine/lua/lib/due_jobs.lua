-- due_jobs: moves due jobs of one queue to ready, in order of their due times (edges E and J).
-- `l` counts by how much later than due jobs were made ready: the lateness of the pump, or of the consumer that did it.
-- Scripts include ready_places or plain_ready_places before it.
-- INCLUDES ready due events minute_counts
local function earlier(a, b)
  if a[2] ~= b[2] then return a[2] < b[2] end
  return a[1] < b[1]
end

local function find_due(found, set, most)
  local entries = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #entries, 2 do found[#found + 1] = {entries[i], tonumber(entries[i + 1]), set} end
end

-- At most `most`. → number moved, next due time of the queue or nil
local function promote_jobs(most)
  local found = {}
  find_due(found, delayed, most)
  local from_delayed = #found
  find_due(found, retry, most)
  local moved = math.min(#found, most)
  if moved > 0 then
    if from_delayed > 0 and from_delayed < #found then table.sort(found, earlier) end
    local leaving = {[delayed] = {}, [retry] = {}}
    local ids, lateness = {}, {}
    for i = 1, moved do
      local id, at, set = found[i][1], found[i][2], found[i][3]
      ids[i], lateness[i] = id, now - at
      leaving[set][#leaving[set] + 1] = id
      emit_line('ready\t' .. id .. '\t\t' .. now - at .. '\t\t\t\t')
    end
    for set, list in pairs(leaving) do
      if #list > 0 then redis.call('ZREM', set, unpack(list)) end
    end
    if redis.call('EXISTS', priorities) == 0 then -- and no limit keys
      redis.call('RPUSH', ready, unpack(ids))
    else
      local its = redis.call('HMGET', priorities, unpack(ids))
      for i, id in ipairs(ids) do put_ready(id, its[i]) end
    end
    count_durations('l', lateness)
  end
  return moved, reset_index(due, delayed, retry)
end
