-- list_active: names of this partition's queues that have counts of the last minutes, by place: the longest quiet first.
-- KEYS
--   active       zset     queues with counts in `stats`
-- ARGV
--   now_ms       ms or ""
--   start        place of the first, from 0
--   limit        queues
-- REPLIES
--   ok           name ...
-- INCLUDES minute_counts
redis.call('ZREMRANGEBYSCORE', active, '-inf', math.floor(now / 60000) - STATS_MINUTES)
return {'ok', unpack(redis.call('ZRANGE', active, start, start + limit - 1))}
