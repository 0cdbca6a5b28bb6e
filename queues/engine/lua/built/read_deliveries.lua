--{"name": "read_deliveries", "purpose": "the latest deliveries of a push endpoint, and its counts (lua/note_deliveries.lua).", "keys": ["push_recent", "push_failures", "push_health"], "args": ["now_ms", "most"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
return {
 'ok',
 now,
 redis.call('HGETALL', KEYS[3]),
 (tonumber(ARGV[2]) > 0 and redis.call('LRANGE', KEYS[1], 0, ARGV[2] - 1) or {
 }),
 (tonumber(ARGV[2]) > 0 and redis.call('LRANGE', KEYS[2], 0, ARGV[2] - 1) or {
 }),
}
