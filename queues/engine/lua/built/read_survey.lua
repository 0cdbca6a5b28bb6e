--{"name": "read_survey", "purpose": "what the latest survey found. As large as all queues together: to be asked for now and then.", "keys": ["survey"], "args": ["now_ms"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
return {
 'ok',
 now,
 redis.call('HGETALL', KEYS[1]),
}
