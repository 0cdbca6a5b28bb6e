-- destroy: drops a queue with all its jobs, in every state, and its idempotency keys. A pause stays: a person set it.
-- UNLINK leaves the freeing to a background thread, so the time does not grow with the queue.
-- KEYS
--   jobs         hash     dropped
--   runs         hash     dropped
--   results      hash     dropped
--   ready        list     dropped
--   prio         zset     dropped
--   priorities   hash     dropped
--   delayed      zset     dropped
--   retry        zset     dropped
--   working      zset     dropped
--   dead         zset     dropped
--   completed    zset     dropped
--   keys         hash     dropped
--   stats        hash     dropped
--   trend        hash     dropped
--   active       zset     who has counts
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
-- REPLIES
--   ok           count     jobs that were dropped
-- INCLUDES events
local count = redis.call('HLEN', jobs)
local alive = count - redis.call('ZCARD', dead) - redis.call('ZCARD', completed)
redis.call('UNLINK', jobs, runs, results, ready, prio, priorities, delayed, retry, working, dead, completed, keys, stats,
  trend)
redis.call('HDEL', flags, 't:' .. queue, 'a:' .. queue, 'c:' .. queue)
redis.call('ZREM', due, queue)
redis.call('ZREM', ends, queue)
redis.call('ZREM', active, queue)
if redis.call('HEXISTS', flags, 'p:' .. queue) == 0 then redis.call('ZREM', queues, queue) end
if count > 0 then emit_line('destroyed\t\t' .. alive .. '\t\t\t' .. count .. '\t\t') end
flush_events()
return {'ok', count}
