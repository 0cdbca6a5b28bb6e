--{"name": "size", "purpose": "number of ready jobs. Exact, O(1).", "keys": ["ready", "front", "prio", "flags", "lines"], "args": ["queue"], "rest": false, "replies": ["ok"]}
local ready_size
do
 local plain_size
 do
  local tombstones = tonumber(redis.call('HGET', KEYS[4], 't:' .. ARGV[1]) or 0)
  plain_size = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) - tombstones + redis.call('ZCARD', KEYS[3])
 end
 ready_size = plain_size + redis.call('ZCARD', KEYS[5])
end
return {
 'ok',
 ready_size,
}
