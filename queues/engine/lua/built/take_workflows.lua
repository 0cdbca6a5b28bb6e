--{"name": "take_workflows", "purpose": "takes workflows of a partition that have something to do, for the caller to do it. They are returned again", "keys": ["workflows"], "args": ["now_ms", "limit", "again"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])
for _, name in ipairs(found) do
 redis.call('ZREM', KEYS[1], name)
 redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), name)
end
return {
 'ok',
 unpack(found),
}
