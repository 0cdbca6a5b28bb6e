--{"name": "beat", "purpose": "notes that a pump lives, and forgets those that have not been heard of for long. Bounded: at most `most` are kept.", "keys": ["pumps"], "args": ["now_ms", "pump", "record", "forget", "most"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
redis.call('HDEL', KEYS[1], ARGV[2])
redis.call('HSET', KEYS[1], ARGV[2], string.format('%.0f', now) .. ' ' .. ARGV[3])
local known = redis.call('HGETALL', KEYS[1])
local beats = {
}
for i = 1, #known, 2 do
 beats[#beats + 1] = {
  tonumber(string.match(known[i + 1], '^%d+')) or 0,
  known[i],
 }
end
table.sort(beats, function(a, b)
 return a[1] > b[1]
end)
local kept = 0
for place, one in ipairs(beats) do
 if place > tonumber(ARGV[5]) or one[1] <= now - tonumber(ARGV[4]) or one[1] > now then
  redis.call('HDEL', KEYS[1], one[2])
 else
  kept = kept + 1
 end
end
return {
 'ok',
 kept,
}
