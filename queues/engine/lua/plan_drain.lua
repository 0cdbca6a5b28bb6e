-- plan_drain: records which entries of a stream are written to the lake next: from the oldest one to `last`. So every process
-- that writes them, and every repetition, writes the same. A partition has one plan at a time.
-- What the cap dropped since the plan before is part of it: `gap` events, behind entry `done`.
-- KEYS
--   events       stream   transitions
--   counters     hash     events dropped
--   drain        hash     gets the plan
-- ARGV
--   now_ms       ms or ""
--   last         id       of the last entry
--   instead      "" or `FIRST LAST` of a plan that this one replaces
-- REPLIES
--   ok           first last gap done   planned
--   planned      first last gap done   there was a plan already
--   gone                   the last entry is not there any more
local plan = redis.call('HMGET', drain, 'first', 'last', 'drops', 'accounted', 'done')
local accounted, done = tonumber(plan[4] or 0), plan[5] or ''
if plan[1] and plan[1] .. ' ' .. plan[2] ~= instead then
  return {'planned', plan[1], plan[2], tonumber(plan[3]) - accounted, done}
end
if not redis.call('XRANGE', events, last, last)[1] then return {'gone'} end
local first = redis.call('XRANGE', events, '-', last, 'COUNT', 1)[1][1]
local drops = tonumber(redis.call('HGET', counters, 'events_dropped') or 0)
redis.call('HDEL', drain, 'removed') -- first, so that a full Redis lets the next one through
redis.call('HSET', drain, 'first', first, 'last', last, 'drops', drops, 'at', now)
return {'ok', first, last, drops - accounted, done}
