--{"name": "note_deliveries", "purpose": "keeps the latest deliveries of a push endpoint, and counts them. Expires by itself.", "keys": ["push_recent", "push_failures", "push_health"], "args": ["now_ms", "keep", "most", "delivered", "failed", "returned", "streak"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
for i = 8, #ARGV, 2 do
 redis.call('LPUSH', KEYS[1], ARGV[i + 1])
 if ARGV[i] == '1' then
  redis.call('LPUSH', KEYS[2], ARGV[i + 1])
 end
end
redis.call('LTRIM', KEYS[1], 0, ARGV[3] - 1)
redis.call('LTRIM', KEYS[2], 0, ARGV[3] - 1)
if tonumber(ARGV[4]) > 0 then
 redis.call('HSET', KEYS[3], 'ok_at', string.format('%.0f', now), 'streak', 0)
end
if tonumber(ARGV[5]) > 0 then
 redis.call('HSET', KEYS[3], 'failed_at', string.format('%.0f', now))
end
redis.call('HINCRBY', KEYS[3], 'delivered', ARGV[4])
redis.call('HINCRBY', KEYS[3], 'failed', ARGV[5])
redis.call('HINCRBY', KEYS[3], 'returned', ARGV[6])
redis.call('HINCRBY', KEYS[3], 'streak', ARGV[7])
for _, key in ipairs({
 KEYS[1],
 KEYS[2],
 KEYS[3],
}) do
 redis.call('PEXPIRE', key, ARGV[2])
end
return {
 'ok',
}
