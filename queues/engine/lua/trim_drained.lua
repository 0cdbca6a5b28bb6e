-- trim_drained: takes entries out of a stream that are in the lake, at most `limit`; with the last of them, the plan.
-- Events of the plan that the cap had dropped before this came to them are in the lake all the same: no gap.
-- Nothing is before the first entry of a plan. The first write frees.
-- KEYS
--   events       stream   transitions
--   counters     hash     bytes of events
--   drain        hash     the plan
-- ARGV
--   now_ms       ms or ""
--   first        id       of the plan
--   last         id       of the plan
--   written      events   of the plan that are in the lake
--   limit        entries
-- REPLIES
--   ok           events more   taken out; 1: there are more
--   gone                   there is no such plan: another drain has finished it
-- INCLUDES event_bytes
local plan = redis.call('HMGET', drain, 'first', 'last', 'drops', 'removed')
if plan[1] ~= first or plan[2] ~= last then return {'gone'} end

local found = redis.call('XRANGE', events, '-', last, 'COUNT', limit)
local taken, freed = 0, 0
for _, entry in ipairs(found) do
  local fields = entry[2]
  taken = taken + tonumber(fields[6])
  freed = freed + event_bytes(fields[4], fields[8])
end
local removed = tonumber(plan[4] or 0) + taken
if #found > 0 then
  redis.call('XTRIM', events, 'MAXLEN', redis.call('XLEN', events) - #found)
  redis.call('HINCRBY', counters, 'events_bytes', -freed)
end
if #found == tonumber(limit) then
  redis.call('HSET', drain, 'removed', removed, 'at', now)
  return {'ok', taken, 1}
end
local accounted = tonumber(plan[3]) + math.max(0, tonumber(written) - removed)
redis.call('HDEL', drain, 'first', 'last', 'drops', 'removed', 'at')
redis.call('HSET', drain, 'done', last, 'accounted', accounted)
return {'ok', taken, 0}
