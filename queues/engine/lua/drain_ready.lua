-- drain_ready: deletes ready jobs of one queue from its head, at most `limit` entries.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     where they are
--   prio         zset     where they are
--   priorities   hash     of these jobs
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   limit        entries
-- REPLIES
--   ok           count left   jobs deleted; entries that are left
-- INCLUDES ready registry events
limit = tonumber(limit)
local ids = redis.call('LPOP', ready, limit) or {}
local from_list = #ids
if from_list < limit then
  local popped = redis.call('ZPOPMIN', prio, limit - from_list)
  for i = 1, #popped, 2 do ids[#ids + 1] = popped[i] end
end
local count = 0
if #ids > 0 then
  for _, id in ipairs(ids) do
    if redis.call('HDEL', jobs, id) == 1 then
      count = count + 1
      emit('deleted', id, '', '', '', '')
    end
  end
  redis.call('HDEL', runs, unpack(ids))
  redis.call('HDEL', priorities, unpack(ids))
  if #ids > count then count_tombstones(count - #ids) end
  forget_if_empty()
end
flush_events()
return {'ok', count, redis.call('LLEN', ready) + redis.call('ZCARD', prio)}
