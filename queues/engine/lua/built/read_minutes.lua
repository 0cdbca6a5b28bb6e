--{"name": "read_minutes", "purpose": "whole minutes of a trend: of one queue (lib/trend), or summed up over many (add_minutes), of which whole", "keys": ["minutes"], "args": ["now_ms", "count", "step", "until_ms"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local rows_end = math.floor(math.min(tonumber(ARGV[4]) or now, now) / 60000 / ARGV[3])
local prefix = ARGV[3] == '5' and 'f' or ''
local names = {
}
for place = rows_end - ARGV[2], rows_end - 1 do
 names[#names + 1] = prefix .. string.format('%d', place)
end
local last_seen = ARGV[4] == '' and redis.call('HGET', KEYS[1], 'g') or false
return {
 'ok',
 rows_end * ARGV[3] * 60000,
 last_seen,
 redis.call('HMGET', KEYS[1], unpack(names)),
}
