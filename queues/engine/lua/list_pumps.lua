-- list_pumps: pumps with a recent heartbeat. Bounded: beat keeps a limited number.
-- KEYS
--   pumps        hash     pump id → time of its latest beat, a blank, its record
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now pumps   the second as HGETALL gives it
return {'ok', now, redis.call('HGETALL', pumps)}
