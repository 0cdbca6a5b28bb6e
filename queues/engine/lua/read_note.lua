-- read_note: a worker's notes on a job (lua/annotate.lua).
-- KEYS
--   note         hash     field → text
-- REPLIES
--   ok           field text ...
local reply = {'ok'}
for _, one in ipairs(redis.call('HGETALL', note)) do reply[#reply + 1] = one end
return reply
