--{"name": "settle_once", "purpose": "shortens how long publish_once remembers ids, since their publisher will not repeat them.", "keys": ["keys", "flags", "sweeps"], "args": ["now_ms", "queue", "keep"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local until_ms, marks = now + tonumber(ARGV[3]), {
}
for i = 4, #ARGV do
 local held = redis.call('HGET', KEYS[1], ARGV[i])
 if held then
  marks[#marks + 1] = ARGV[i]
  marks[#marks + 1] = struct.pack('>I6', until_ms) .. string.sub(held, 7)
 end
end
if #marks > 0 then
 redis.call('HSET', KEYS[1], unpack(marks))
 repeat
  local field, look_at = 'k:' .. ARGV[2], math.min(until_ms, now + 600000)
  if redis.call('HSETNX', KEYS[2], field, string.format('%.0f 0 0', look_at)) == 1 then
   redis.call('ZADD', KEYS[3], 'LT', math.min(look_at, now + 600000), ARGV[2])
   break
  end
  local at, cursor, earliest = string.match(redis.call('HGET', KEYS[2], field), '^(%d+) (%d+) (%d+)$')
  if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > until_ms) then
   redis.call('HSET', KEYS[2], field, string.format('%s %s %.0f', at, cursor, until_ms))
  end
 until true
end
return {
 'ok',
 #marks / 2,
}
