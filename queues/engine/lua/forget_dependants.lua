-- forget_dependants: those that have been told, or that wait no more. With a message given, it is dropped.
-- The first write frees.
-- KEYS
--   dependants   zset     who depends on jobs of this queue
--   outgoing     zset     messages to other partitions
-- ARGV
--   message      "" or the message that has been carried to all whom it concerns
--   ...          members
-- REPLIES
--   ok           number
local count = 0
if #ARGV >= REST then count = redis.call('ZREM', dependants, unpack(ARGV, REST)) end
if message ~= '' then redis.call('ZREM', outgoing, message) end
return {'ok', count}
