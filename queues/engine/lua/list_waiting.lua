-- list_waiting: what web processes said lately of the consumers that wait there. Few: tell_waiting keeps a bounded number.
-- KEYS
--   tellers      zset     process → time of its latest word
--   told         hash     process → its record
-- ARGV
--   now_ms       ms or ""
--   forget       ms       what is older is left out
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
