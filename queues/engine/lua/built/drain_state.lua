--{"name": "drain_state", "purpose": "whether a partition has events to be drained, and the plan under way. O(1). Ids are \"\" if there is none.", "keys": ["events", "counters", "drain"], "args": ["now_ms"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local plan = redis.call('HMGET', KEYS[3], 'first', 'last', 'at')
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local memory = redis.call('HMGET', KEYS[2], 'events_bytes', 'events_most')
return {
 'ok',
 now,
 redis.call('XLEN', KEYS[1]),
 tonumber(memory[1] or 0),
 tonumber(memory[2] or 0),
 oldest and oldest[1] or '',
 plan[1] or '',
 plan[2] or '',
 math.abs(now - (plan[3] or now)),
}
