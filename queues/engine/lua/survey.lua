-- survey: the reply of stats and whether consumers wait on the queue; records the queue's whole minutes. Bounded as stats is.
-- Of several surveys of one queue in a minute, the first records the minutes before and is told what it recorded.
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
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   trend        hash     whole minutes
--   blocked      zset     jobs that wait for others
--   grouped      zset     jobs that wait for their group
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
-- REPLIES
--   ok           now paused ready delayed retry working dead completed blocked grouped oldest_due dropped_by_age dropped_by_count minutes waited recorded
-- INCLUDES oldest wake trend
local LOOK_AT = 3 -- a few less than stats: thousands of queues are surveyed

local dropped_by = redis.call('HMGET', trimmed, 'age', 'count')
local states = {ready_size(), redis.call('ZCARD', delayed), redis.call('ZCARD', retry), redis.call('ZCARD', working),
  redis.call('ZCARD', dead), redis.call('ZCARD', completed)}
local minutes = redis.call('HGETALL', stats)
local recorded = record_minutes(minutes, states)
return {'ok', now, redis.call('HEXISTS', flags, 'p:' .. queue), states[1], states[2], states[3], states[4], states[5],
  states[6], redis.call('ZCARD', blocked), redis.call('ZCARD', grouped), states[1] > 0 and oldest_ready(LOOK_AT) or -1, tonumber(dropped_by[1] or 0), tonumber(dropped_by[2] or 0), minutes,
  is_waited_for() and 1 or 0, recorded}
