-- unstage: drops staged records whose publish has failed.
-- KEYS
--   jobs         hash     the records
--   runs         hash     those of jobs that would have been blocked
--   priorities   hash     their priorities and places
--   waits        zset     what they would have waited for
--   staged       zset     their ids
--   ready        list     dropped when the queue is empty
--   front        list     the same
--   keys         hash     whether the queue is still registered
--   flags        hash     the same
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   random       as the records were staged with, at the time now_ms
--   counter      the same
--   count        records
-- REPLIES
--   ok           count     that were dropped
-- INCLUDES ids staged_records
local ids = {}
local prefix = time_part() .. random
for i = 0, count - 1 do ids[i + 1] = prefix .. counter_part(counter + i) end
local before = redis.call('ZCARD', staged)
unstage(ids)
return {'ok', before - redis.call('ZCARD', staged)}
