-- read_outgoing: messages to other partitions that are still to be carried, the earliest first.
-- KEYS
--   outgoing     zset     messages
-- ARGV
--   limit        messages
-- REPLIES
--   ok           message ...
return {'ok', unpack(redis.call('ZRANGE', outgoing, 0, limit - 1))}
