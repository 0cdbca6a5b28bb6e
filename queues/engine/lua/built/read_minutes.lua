--{"name": "read_minutes", "purpose": "the last whole minutes of a trend: of one queue (lib/trend), or summed up over many (add_minutes).", "keys": ["minutes"], "args": ["now_ms", "count"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local last = math.floor(now / 60000) - 1
local names = {
}
for minute = last - ARGV[2] + 1, last do
 names[#names + 1] = minute
end
return {
 'ok',
 now,
 redis.call('HGET', KEYS[1], 'g'),
 redis.call('HMGET', KEYS[1], unpack(names)),
}
