-- dead_head: number of dead letters and the oldest of them.
-- KEYS
--   dead         zset     dead letters
-- ARGV
-- REPLIES
--   ok           size id   id "" when there is none
return {'ok', redis.call('ZCARD', dead), redis.call('ZRANGE', dead, 0, 0)[1] or ''}
