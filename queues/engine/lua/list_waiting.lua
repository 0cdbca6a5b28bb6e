-- list_waiting: recent reports of web processes on the consumers that wait there. Bounded: tell_waiting keeps a limited number.
-- KEYS
--   tellers      zset     process → time of its latest report
--   told         hash     process → its report
-- ARGV
--   now_ms       ms or ""
--   forget       ms       reports that are older are left out
-- REPLIES
--   ok           now [process at record]...
local reply = {'ok', now}
local found = redis.call('ZRANGEBYSCORE', tellers, '(' .. string.format('%.0f', now - forget), now, 'WITHSCORES')
for i = 1, #found, 2 do
  reply[#reply + 1] = found[i]
  reply[#reply + 1] = tonumber(found[i + 1])
  reply[#reply + 1] = redis.call('HGET', told, found[i]) or ''
end
return reply
