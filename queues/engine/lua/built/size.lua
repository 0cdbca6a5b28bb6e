--{"name": "size", "purpose": "number of ready jobs. Exact, O(1).", "keys": ["ready", "front", "prio", "flags"], "args": ["queue"], "rest": false, "replies": ["ok"]}
local ready_size
do
 local tombstones = tonumber(redis.call('HGET', KEYS[4], 't:' .. ARGV[1]) or 0)
 ready_size = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) - tombstones + redis.call('ZCARD', KEYS[3])
end
return {
 'ok',
 ready_size,
}
