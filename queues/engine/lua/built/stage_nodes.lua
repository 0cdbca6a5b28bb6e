--{"name": "stage_nodes", "purpose": "writes bodies of nodes that are about to be added (lua/commit_nodes.lua). Bodies that are not added within a minute are dropped.", "keys": ["pending", "workflows"], "args": ["now_ms", "name", "keep"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
redis.call('ZADD', KEYS[2], 'LT', now + tonumber(ARGV[3]), ARGV[2])
return {
 'ok',
}
