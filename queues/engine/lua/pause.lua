-- pause: makes a queue deliver nothing, or deliver again; it takes publishes meanwhile.
-- KEYS
--   jobs         hash     whether the queue holds anything
--   keys         hash     whether the queue holds anything
--   flags        hash     since when it is paused
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   ready        list     for the wake-up on resume
--   front        list     goes before `ready`
--   prio         zset     for the wake-up on resume
--   waiting      zset     queues on which consumers wait
--   lines        zset     ready jobs with limit keys
--   active       zset     queues that were used lately
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   paused       1 = pause, 0 = resume
--   must_exist   1 = pause only a queue that exists
-- REPLIES
--   ok           changed   1 if it was not so before
--   missing      it holds nothing, was not used in the last ten minutes, and no consumer waits on it
-- INCLUDES ready wake registry
if paused == '1' and must_exist == '1' and not redis.call('ZSCORE', queues, queue)
  and not redis.call('ZSCORE', active, queue) and tonumber(redis.call('ZSCORE', waiting, queue) or 0) < now then
  return {'missing'}
end
local was = redis.call('HDEL', flags, 'p:' .. queue)
if paused == '1' then
  redis.call('HSET', flags, 'p:' .. queue, now)
  redis.call('ZADD', queues, 0, queue)
  return {'ok', 1 - was}
end
local size = ready_size()
if size > 0 then wake_ready(size) end
forget_if_empty()
return {'ok', was}
