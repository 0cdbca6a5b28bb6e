-- list_queues: names of the queues of this partition in a range of names, in order.
-- KEYS
--   queues       zset     the registry
-- ARGV
--   min          ZRANGEBYLEX bound
--   max          ZRANGEBYLEX bound
--   limit        queues
-- REPLIES
--   ok           name ...
return {'ok', unpack(redis.call('ZRANGEBYLEX', queues, min, max, 'LIMIT', 0, limit))}
