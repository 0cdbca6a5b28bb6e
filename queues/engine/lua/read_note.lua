-- read_note: what a worker said of a job (lua/annotate.lua).
-- KEYS
--   note         hash     field → text
-- REPLIES
--   ok           field text ...
local reply = {'ok'}
for _, one in ipairs(redis.call('HGETALL', note)) do reply[#reply + 1] = one end
return reply
