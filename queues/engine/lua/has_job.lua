-- has_job: whether a queue has a job, in whatever state, or has it as part of a batch. O(1).
-- KEYS
--   jobs         hash     whether it is there
--   batches      hash     whether it has become part of a batch
-- ARGV
--   id           job
-- REPLIES
--   ok           1 or 0
return {'ok', math.max(redis.call('HEXISTS', jobs, id), redis.call('HEXISTS', batches, id))}
