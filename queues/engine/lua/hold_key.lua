-- hold_key: has a job that is worked on hold a key, if no other job that is worked on does: two of them never overlap.
-- KEYS
--   keys         hash     idempotency keys
--   working      zset     whether the job that holds it is still worked on
--   flags        hash     when to look through the keys
--   sweeps       zset     when the sweeper has work
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   key
--   id           job
-- REPLIES
--   ok
--   held         id        this job has it
-- INCLUDES keys
local value = redis.call('HGET', keys, key)
local holder = value and string.sub(value, 7, 32)
if holder and holder ~= id and redis.call('ZSCORE', working, holder) then return {'held', holder} end
redis.call('HSET', keys, key, struct.pack('>I6c26', 0, id) .. 'w')
expect_key_end(now + SWEEP_EVERY_MS)
return {'ok'}
