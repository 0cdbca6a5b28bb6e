-- read_deliveries: the latest deliveries of a push endpoint, and its counts (lua/note_deliveries.lua).
-- KEYS
--   push_recent    list     records of deliveries, the newest first
--   push_failures  list     those of them that failed
--   push_health    hash     counts
-- ARGV
--   now_ms       ms or ""
--   most         records  of each list; 0 = only the counts
-- REPLIES
--   ok           now health recent failures   health as HGETALL gives it
local function some(key)
  return tonumber(most) > 0 and redis.call('LRANGE', key, 0, most - 1) or {}
end
return {'ok', now, redis.call('HGETALL', push_health), some(push_recent), some(push_failures)}
