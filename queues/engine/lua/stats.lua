-- stats: counts per state, the oldest ready job, and the last minutes of one queue. Bounded: counts are O(1), the minutes
-- are few, and at most 100 tombstones at the head are looked past.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     ready jobs
--   front        list     goes before `ready`
--   prio         zset     ready jobs of other priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   dead         zset     dead jobs
--   completed    zset     completed jobs
--   flags        hash     paused, tombstones
--   trimmed      hash     dropped dead letters
--   stats        hash     minutes
--   blocked      zset     jobs that wait for others
--   grouped      zset     jobs that wait for their group
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
-- REPLIES
--   ok           now paused ready delayed retry working dead completed blocked grouped oldest_due dropped_by_age dropped_by_count minutes
-- INCLUDES oldest

local dropped_by = redis.call('HMGET', trimmed, 'age', 'count')
return {'ok', now, redis.call('HEXISTS', flags, 'p:' .. queue), ready_size(), redis.call('ZCARD', delayed),
  redis.call('ZCARD', retry), redis.call('ZCARD', working), redis.call('ZCARD', dead), redis.call('ZCARD', completed),
  redis.call('ZCARD', blocked), redis.call('ZCARD', grouped), oldest_ready(16) or -1, tonumber(dropped_by[1] or 0), tonumber(dropped_by[2] or 0), redis.call('HGETALL', stats)}
