--{"name": "stream_end", "purpose": "the newest event of a partition. O(1).", "keys": ["events", "drain"], "args": ["now_ms"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local last_entry
do
 local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
 local drained = redis.call('HMGET', KEYS[2], 'last', 'done')
 last_entry = newest and newest[1] or drained[1] or drained[2] or '0-0'
end
return {
 'ok',
 now,
 last_entry,
}
