--{"name": "partition_load", "purpose": "how many queues a partition has, how far its indexes are behind, and its events. O(1).", "keys": ["queues", "due", "ends", "counters", "events"], "args": ["now_ms"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function behind(index)
 local head = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
 return head[2] and math.max(0, now - tonumber(head[2])) or 0
end
local function undrained()
 local oldest = redis.call('XRANGE', KEYS[5], '-', '+', 'COUNT', 1)[1]
 return oldest and math.max(0, now - tonumber(string.match(oldest[1], '^%d+'))) or 0
end
local stream = redis.call('HMGET', KEYS[4], 'events_bytes', 'events_dropped', 'events_dropped_before', 'events_dropped_at')
local dropped = tonumber(stream[2] or 0)
return {
 'ok',
 now,
 redis.call('ZCARD', KEYS[1]),
 behind(KEYS[2]),
 behind(KEYS[3]),
 tonumber(stream[1] or 0),
 dropped,
 dropped - tonumber(stream[3] or 0),
 tonumber(stream[4] or 0),
 undrained(),
}
