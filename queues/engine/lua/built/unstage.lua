--{"name": "unstage", "purpose": "drops staged records whose publish has failed.", "keys": ["jobs", "runs", "priorities", "waits", "staged", "ready", "front", "keys", "flags", "due", "ends", "queues"], "args": ["now_ms", "queue", "random", "counter", "count"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local DIGITS = {
 string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
}
local ids = {
}
local time_part
do
 local low = now % 33554432
 local five_digits
 do
  local value = (now - low) / 33554432
  local e = value % 32
  value = (value - e) / 32
  local d = value % 32
  value = (value - d) / 32
  local c = value % 32
  value = (value - c) / 32
  local b = value % 32
  five_digits = string.char(DIGITS[(value - b) / 32 + 1], DIGITS[b + 1], DIGITS[c + 1], DIGITS[d + 1], DIGITS[e + 1])
 end
 local five_digits_2
 do
  local value_2 = low
  local e_2 = value_2 % 32
  value_2 = (value_2 - e_2) / 32
  local d_2 = value_2 % 32
  value_2 = (value_2 - d_2) / 32
  local c_2 = value_2 % 32
  value_2 = (value_2 - c_2) / 32
  local b_2 = value_2 % 32
  five_digits_2 = string.char(DIGITS[(value_2 - b_2) / 32 + 1], DIGITS[b_2 + 1], DIGITS[c_2 + 1], DIGITS[d_2 + 1], DIGITS[e_2 + 1])
 end
 time_part = five_digits .. five_digits_2
end
local prefix = time_part .. ARGV[3]
for i = 0, ARGV[5] - 1 do
 local counter_part
 do
  local value_3 = ARGV[4] + i
  local c_3 = value_3 % 32
  value_3 = (value_3 - c_3) / 32
  local b_3 = value_3 % 32
  counter_part = string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
 end
 ids[i + 1] = prefix .. counter_part
end
local before = redis.call('ZCARD', KEYS[5])
repeat
 local stale = {
 }
 for i_2, score in ipairs(redis.call('ZMSCORE', KEYS[5], unpack(ids))) do
  if score then
   stale[#stale + 1] = ids[i_2]
  end
 end
 if #stale == 0 then
  break
 end
 redis.call('HDEL', KEYS[1], unpack(stale))
 redis.call('HDEL', KEYS[2], unpack(stale))
 redis.call('HDEL', KEYS[3], unpack(stale))
 for _, id in ipairs(redis.call('EXISTS', KEYS[4]) == 1 and stale or {
 }) do
  redis.call('ZREMRANGEBYLEX', KEYS[4], '[' .. id .. '\t', '(' .. id .. '\n')
 end
 redis.call('ZREM', KEYS[5], unpack(stale))
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[6], KEYS[7])
  redis.call('HDEL', KEYS[9], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[10], ARGV[2])
  redis.call('ZREM', KEYS[11], ARGV[2])
  if redis.call('EXISTS', KEYS[8]) == 0 and redis.call('HEXISTS', KEYS[9], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[12], ARGV[2])
  end
 until true
until true
return {
 'ok',
 before - redis.call('ZCARD', KEYS[5]),
}
