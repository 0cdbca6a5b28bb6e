-- forget_dependants: drops dependants that have been told, or that wait no more; and the message, if one is given.
-- The first write frees.
-- KEYS
--   dependants   zset     jobs that depend on jobs of this queue
--   outgoing     zset     messages to other partitions
-- ARGV
--   message      "" or the message, once it has been carried to every job that it concerns
--   ...          members
-- REPLIES
--   ok           number
local count = 0
if #ARGV >= REST then count = redis.call('ZREM', dependants, unpack(ARGV, REST)) end
if message ~= '' then redis.call('ZREM', outgoing, message) end
return {'ok', count}
