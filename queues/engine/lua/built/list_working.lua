--{"name": "list_working", "purpose": "the working jobs of a queue and their consumers: those whose leases end first. Bodies are not read.", "keys": ["working", "runs"], "args": ["now_ms", "limit"], "rest": false, "replies": ["ok"]}
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
 redis.call('ZCARD', KEYS[1]),
}
local found = redis.call('ZRANGE', KEYS[1], 0, ARGV[2] - 1, 'WITHSCORES')
for i = 1, #found, 2 do
 reply[#reply + 1] = found[i]
 reply[#reply + 1] = tonumber(found[i + 1])
 reply[#reply + 1] = redis.call('HGET', KEYS[2], found[i]) or ''
end
return reply
