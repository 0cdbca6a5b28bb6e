-- trim_dead: drops dead letters beyond the bounds that a person set, oldest first, and counts what each bound dropped.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     its tombstones, when the queue is empty
--   priorities   hash     of these jobs
--   dead         zset     dead letters
--   keys         hash     whether the queue is still registered
--   flags        hash     what each bound dropped
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   max_age      "" or ms
--   max_count    "" or jobs
--   limit        jobs      at most so many by each bound
-- REPLIES
--   ok           by_age by_count more
-- INCLUDES registry events remove
limit = tonumber(limit)

local function drop(ids, reason, field)
  if #ids == 0 then return end
  redis.call('ZREM', dead, unpack(ids))
  drop_records(ids)
  redis.call('HINCRBY', flags, field .. queue, #ids)
  for _, id in ipairs(ids) do emit('deleted', id, '', '', '', reason) end
end

local old, many = {}, {}
if max_age ~= '' then
  old = redis.call('ZRANGEBYSCORE', dead, '-inf', now - tonumber(max_age), 'LIMIT', 0, limit)
  drop(old, 'dead-letter bound: age', 'a:')
end
local excess = 0
if max_count ~= '' then
  excess = redis.call('ZCARD', dead) - tonumber(max_count)
  if excess > 0 then many = redis.call('ZRANGE', dead, 0, math.min(excess, limit) - 1) end
  drop(many, 'dead-letter bound: count', 'c:')
end
if #old + #many > 0 then forget_if_empty() end
flush_events()
return {'ok', #old, #many, (#old == limit or excess > #many) and 1 or 0}
