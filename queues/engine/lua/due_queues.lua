-- due_queues: names of queues whose next event, by an index of this partition, has come.
-- KEYS
--   index        zset     `due` or `ends`
-- ARGV
--   now_ms       ms or ""
--   limit        queues
-- REPLIES
--   ok           name ...
return {'ok', unpack(redis.call('ZRANGEBYSCORE', index, '-inf', now, 'LIMIT', 0, limit))}
