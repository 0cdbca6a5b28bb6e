--{"name": "list_worker_namespaces", "purpose": "namespaces with a recent heartbeat of a worker.", "keys": ["spaces"], "args": ["now_ms", "forget"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local reply = {
 'ok',
}
for _, one in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[2], '+inf')) do
 reply[#reply + 1] = one
end
return reply
