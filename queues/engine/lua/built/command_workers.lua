--{"name": "command_workers", "purpose": "sends a command to workers. Subscribed ones receive it at once, others in reply to their next heartbeat.", "keys": ["commands"], "args": ["now_ms", "workers_on", "command", "keep", "most"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[4])
local extra = redis.call('ZCARD', KEYS[1]) - ARGV[5] + 1
if extra > 0 then
 redis.call('ZPOPMIN', KEYS[1], extra)
end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {
 'ok',
 redis.call('PUBLISH', ARGV[2], ARGV[3]),
}
