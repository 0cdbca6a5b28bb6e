-- appended_events: how many events a partition has appended on each UTC day, drained or not; forgets days before `since`.
-- The hash has a field for each day since the last that was forgotten, and a few others.
-- KEYS
--   counters     hash     a field for each day: its number from 1970-01-01 on
-- ARGV
--   now_ms       ms or ""
--   since        day      earlier ones are forgotten
-- REPLIES
--   ok           now day events ...
local reply = {'ok', now}
local fields = redis.call('HGETALL', counters)
for i = 1, #fields, 2 do
  local day = tonumber(string.match(fields[i], '^%d+$'))
  if day and day < tonumber(since) then
    redis.call('HDEL', counters, fields[i])
  elseif day then
    reply[#reply + 1] = day
    reply[#reply + 1] = tonumber(fields[i + 1])
  end
end
return reply
