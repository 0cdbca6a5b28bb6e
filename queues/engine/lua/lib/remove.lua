-- remove: takes a job out of whatever state it is in, with all that belongs to it. The first write frees, so this works
-- on a full Redis. `K`: table of keys.
-- INCLUDES ready
local HELD_IN = {'working', 'delayed', 'retry', 'completed', 'dead', 'prio'}

-- → the name of the set it was in ('ready' for the list), or nil if there is no such job
local function remove_job(K, queue, id)
  if redis.call('HDEL', K.jobs, id) == 0 then return nil end
  redis.call('HDEL', K.runs, id)
  redis.call('HDEL', K.priorities, id)
  for _, state in ipairs(HELD_IN) do
    if redis.call('ZREM', K[state], id) == 1 then
      if state == 'completed' then redis.call('HDEL', K.results, id) end
      return state
    end
  end
  count_tombstones(K.flags, K.ready, K.jobs, queue, 1)
  return 'ready'
end
