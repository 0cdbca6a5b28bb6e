--{"name": "list_waiting", "purpose": "recent reports of web processes on the consumers that wait there. Bounded: tell_waiting keeps a limited number.", "keys": ["tellers", "told"], "args": ["now_ms", "forget"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local reply = {
 'ok',
 now,
}
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now - ARGV[2]), now, 'WITHSCORES')
for i = 1, #found, 2 do
 reply[#reply + 1] = found[i]
 reply[#reply + 1] = tonumber(found[i + 1])
 reply[#reply + 1] = redis.call('HGET', KEYS[2], found[i]) or ''
end
return reply
