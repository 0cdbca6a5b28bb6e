-- find_key: the job that an idempotency key was given to. O(1). A key that is held as long as its job is in certain states
-- (lib/unique.lua) still leads to the job after that, until the job is gone.
-- KEYS
--   jobs         hash     whether the job is still there
--   keys         hash     idempotency keys
-- ARGV
--   key
-- REPLIES
--   ok           id, or "" if there is none
local value = redis.call('HGET', keys, key)
local id = value and string.sub(value, 7, 32) or ''
if id ~= '' and redis.call('HEXISTS', jobs, id) == 0 then id = '' end
return {'ok', id}
