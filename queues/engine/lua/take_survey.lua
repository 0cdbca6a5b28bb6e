-- take_survey: makes a pump the one that surveys this pool for a while, unless another is. Several would do no harm but
-- cost several times as much. A hold that is longer than any was made before the clock was put back, and does not count.
-- KEYS
--   turn         string   pump id; expires
-- ARGV
--   pump         id of the pump
--   hold         ms       for which it is the one
-- REPLIES
--   ok                    it is
--   taken                 another one is
local holder = redis.call('GET', turn)
if holder and holder ~= pump and redis.call('PTTL', turn) <= tonumber(hold) then return {'taken'} end
redis.call('DEL', turn)
redis.call('SET', turn, pump, 'PX', hold)
return {'ok'}
