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
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   paused       1 = pause, 0 = resume
-- REPLIES
--   ok           changed   1 if it was not so before
-- INCLUDES ready wake registry
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
