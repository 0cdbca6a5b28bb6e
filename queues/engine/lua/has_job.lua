-- has_job: whether a queue has a job, in whatever state. O(1).
-- KEYS
--   jobs         hash     whether it is there
-- ARGV
--   id           job
-- REPLIES
--   ok           1 or 0
return {'ok', redis.call('HEXISTS', jobs, id)}
