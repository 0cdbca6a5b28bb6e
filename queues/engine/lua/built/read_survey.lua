--{"name": "read_survey", "purpose": "the results of the latest survey. They grow with the number of all queues, so they are read now and then only.", "keys": ["survey"], "args": ["now_ms"], "rest": false, "replies": ["ok"]}
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
