-- delete_dead: deletes the oldest dead letters of one queue, at most `limit`. The first write frees.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     its tombstones, when the queue is empty
--   front        list     goes before `ready`
--   priorities   hash     of these jobs
--   dead         zset     dead letters
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets messages to the jobs that depend on it
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes     the event stream's
--   limit        jobs
--   budget       bytes     of records
-- REPLIES
--   ok           count left   left: dead letters that remain
-- INCLUDES registry events remove bulk delete_dead_letters
local ids = first_within(redis.call('ZRANGE', dead, 0, limit - 1), tonumber(budget), jobs)
if #ids > 0 then
  delete_dead_letters(ids, 'was dead')
  forget_if_empty()
end
flush_events()
return {'ok', #ids, redis.call('ZCARD', dead)}
