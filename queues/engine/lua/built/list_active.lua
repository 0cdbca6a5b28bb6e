--{"name": "list_active", "purpose": "names of this partition's queues that have counts of the last minutes, by place: the longest quiet first.", "keys": ["active"], "args": ["now_ms", "start", "limit"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', math.floor(now / 60000) - 10)
return {
 'ok',
 unpack(redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[2] + ARGV[3] - 1)),
}
