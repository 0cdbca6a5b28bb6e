-- trim_dead: drops dead letters beyond the bounds that a person set, oldest first, and counts what each bound dropped.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     its tombstones, when the queue is empty
--   front        list     goes before `ready`
--   priorities   hash     of these jobs
--   dead         zset     dead letters
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   trimmed      hash     what each bound dropped
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets messages to the jobs that depend on it
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   max_age      "" or ms
--   max_count    "" or jobs
--   limit        jobs      at most so many by each bound
--   budget       bytes     of records: at most so many by each bound
-- REPLIES
--   ok           by_age by_count more
-- INCLUDES registry events remove bulk delete_dead_letters
local KEPT_MS = 604800000 -- a week
limit, budget = tonumber(limit), tonumber(budget)

-- → how many it dropped
local function drop(ids, bound)
  ids = first_within(ids, budget, jobs)
  if #ids == 0 then return 0 end
  delete_dead_letters(ids, 'dead-letter bound: ' .. bound)
  redis.call('HINCRBY', trimmed, bound, #ids)
  redis.call('PEXPIRE', trimmed, KEPT_MS)
  return #ids
end

local old, many, left = 0, 0, 0
if max_age ~= '' then
  local latest = now - tonumber(max_age)
  old = drop(redis.call('ZRANGEBYSCORE', dead, '-inf', latest, 'LIMIT', 0, limit), 'age')
  left = redis.call('ZCOUNT', dead, '-inf', latest)
end
if max_count ~= '' then
  local excess = redis.call('ZCARD', dead) - tonumber(max_count)
  if excess > 0 then many = drop(redis.call('ZRANGE', dead, 0, math.min(excess, limit) - 1), 'count') end
  left = math.max(left, excess - many)
end
if old + many > 0 then forget_if_empty() end
flush_events()
return {'ok', old, many, left > 0 and 1 or 0}
