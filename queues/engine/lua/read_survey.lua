-- read_survey: the results of the latest survey. They grow with the number of all queues, so they are read now and then only.
-- KEYS
--   survey       hash     namespace → its queues; an empty field name: about the survey as a whole
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now fields   the second as HGETALL gives it
return {'ok', now, redis.call('HGETALL', survey)}
