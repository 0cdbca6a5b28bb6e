--{"name": "due_queues", "purpose": "names of queues whose next event, by an index of this partition, has come.", "keys": ["index"], "args": ["now_ms", "limit"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
return {
 'ok',
 unpack(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])),
}
