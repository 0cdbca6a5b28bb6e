-- purge: drops completed jobs of one queue whose retention ended. At most `limit`.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     results
--   priorities   hash     of these jobs
--   ready        list     its tombstones, when the queue is empty
--   front        list     goes before `ready`
--   working      zset     for the true next end
--   completed    zset     where they are
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index, set to the true next end
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     bytes of events, events dropped
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          events    the event stream's
--   limit        jobs
--   budget       bytes     of records and results
-- REPLIES
--   ok           dropped more
-- INCLUDES due registry remove events bulk
local ended = redis.call('ZRANGEBYSCORE', completed, '-inf', now, 'LIMIT', 0, limit)
local ids = first_within(ended, tonumber(budget), jobs, results)
if #ids > 0 then
  redis.call('ZREM', completed, unpack(ids))
  drop_records(ids)
  redis.call('HDEL', results, unpack(ids))
  for _, id in ipairs(ids) do emit('purged', id, '', '', '', '') end
end
local next_end = reset_index(ends, working, completed)
forget_if_empty()
flush_events()
return {'ok', #ids, next_end and next_end <= now and 1 or 0}
