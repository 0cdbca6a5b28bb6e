-- extend: gives a working job a new lease that ends `ttr` from now.
-- KEYS
--   runs         hash     attempts
--   working      zset     the leases
--   ends         zset     index of lease ends
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   id           job
--   attempt      "" or the attempt that must hold the job
--   ttr          ms
-- REPLIES
--   ok           lease_end
--   lost                   the attempt does not hold the job; nothing changed
-- INCLUDES run due
local run = redis.call('ZSCORE', working, id) and unpack_run(redis.call('HGET', runs, id))
if not run or (attempt ~= '' and run.attempt ~= tonumber(attempt)) then return {'lost'} end
local lease_end = now + tonumber(ttr)
redis.call('ZREM', working, id) -- first, so that a full Redis lets the ZADD through
redis.call('ZADD', working, lease_end, id)
lower_index(ends, lease_end)
return {'ok', lease_end}
