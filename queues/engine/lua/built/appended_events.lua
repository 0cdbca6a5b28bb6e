--{"name": "appended_events", "purpose": "how many events a partition has appended on each UTC day, drained or not; forgets days before `since`.", "keys": ["counters"], "args": ["now_ms", "since"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local reply = {
 'ok',
 now,
}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
 local day = tonumber(string.match(fields[i], '^%d+$'))
 if day and day < tonumber(ARGV[2]) then
  redis.call('HDEL', KEYS[1], fields[i])
 elseif day then
  reply[#reply + 1] = day
  reply[#reply + 1] = tonumber(fields[i + 1])
 end
end
return reply
