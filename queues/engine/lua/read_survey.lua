-- read_survey: what the latest survey found. As large as all queues together: to be asked for now and then.
-- KEYS
--   survey       hash     namespace → its queues; an empty field name: about the survey as a whole
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now fields   the second as HGETALL gives it
return {'ok', now, redis.call('HGETALL', survey)}
