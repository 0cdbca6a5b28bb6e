-- next_sweep: which queue of this partition the sweep goes on with, after `after` in name order, or from the start.
-- KEYS
--   queues       zset     the registry
--   counters     hash     the sweep's place
-- ARGV
-- REPLIES
--   ok           queue cursor count    go on here
--   none                               no queue at all
local place = redis.call('HMGET', counters, 'sweep_queue', 'sweep_cursor', 'sweep_count')
if place[2] and place[2] ~= '0' then return {'ok', place[1], place[2], place[3]} end
local min = place[1] and '(' .. place[1] or '-'
local name = redis.call('ZRANGEBYLEX', queues, min, '+', 'LIMIT', 0, 1)[1]
  or redis.call('ZRANGEBYLEX', queues, '-', '+', 'LIMIT', 0, 1)[1]
if not name then return {'none'} end
return {'ok', name, '0', '20'}
