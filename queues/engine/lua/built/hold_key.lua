--{"name": "hold_key", "purpose": "has a job that is worked on hold a key, if no other job that is worked on does: two of them never overlap.", "keys": ["keys", "working", "flags", "sweeps"], "args": ["now_ms", "queue", "key", "id"], "rest": false, "replies": ["ok", "held"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local value = redis.call('HGET', KEYS[1], ARGV[3])
local holder = value and string.sub(value, 7, 32)
if holder and holder ~= ARGV[4] and redis.call('ZSCORE', KEYS[2], holder) then
 return {
  'held',
  holder,
 }
end
redis.call('HSET', KEYS[1], ARGV[3], struct.pack('>I6c26', 0, ARGV[4]) .. 'w')
repeat
 local expires = now + 600000
 local field, look_at = 'k:' .. ARGV[2], math.min(expires, now + 600000)
 if redis.call('HSETNX', KEYS[3], field, string.format('%.0f 0 0', look_at)) == 1 then
  redis.call('ZADD', KEYS[4], 'LT', math.min(look_at, now + 600000), ARGV[2])
  break
 end
 local at, cursor, earliest = string.match(redis.call('HGET', KEYS[3], field), '^(%d+) (%d+) (%d+)$')
 if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires) then
  redis.call('HSET', KEYS[3], field, string.format('%s %s %.0f', at, cursor, expires))
 end
until true
return {
 'ok',
}
