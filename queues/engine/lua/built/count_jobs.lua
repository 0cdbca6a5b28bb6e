--{"name": "count_jobs", "purpose": "jobs of one queue by state. Exact, O(1).", "keys": ["ready", "front", "prio", "delayed", "retry", "working", "dead", "completed", "flags", "blocked", "grouped", "lines"], "args": ["queue"], "rest": false, "replies": ["ok"]}
local ready_size
do
 local plain_size
 do
  local tombstones = tonumber(redis.call('HGET', KEYS[9], 't:' .. ARGV[1]) or 0)
  plain_size = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) - tombstones + redis.call('ZCARD', KEYS[3])
 end
 ready_size = plain_size + redis.call('ZCARD', KEYS[12])
end
return {
 'ok',
 ready_size,
 redis.call('ZCARD', KEYS[4]),
 redis.call('ZCARD', KEYS[5]),
 redis.call('ZCARD', KEYS[6]),
 redis.call('ZCARD', KEYS[7]),
 redis.call('ZCARD', KEYS[8]),
 redis.call('ZCARD', KEYS[10]),
 redis.call('ZCARD', KEYS[11]),
}
