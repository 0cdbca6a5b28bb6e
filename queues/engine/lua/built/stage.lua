--{"name": "stage", "purpose": "writes records of a large publish ahead of it, a part of them in each call, so that no call takes long. Nobody", "keys": ["jobs", "staged", "queues", "sweeps"], "args": ["now_ms", "queue", "random", "counter", "delay", "at", "ttl", "tries", "options"], "rest": true, "replies": ["ok", "ttl_short"]}
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
now = now_up
local ttl_ms, wait = tonumber(ARGV[7]), tonumber(ARGV[5])
if ARGV[6] ~= '' then
 wait = tonumber(ARGV[6]) - now
end
if ttl_ms > 0 and wait > ttl_ms then
 return {
  'ttl_short',
 }
end
local head
do
 local tries, expires, due_ms, options = tonumber(ARGV[8]), ttl_ms > 0 and now + ttl_ms or 0, wait > 0 and now + wait or nil, ARGV[9]
 local bits = 0
 local tail = ''
 if due_ms then
  bits = 2
  tail = struct.pack('>I6', due_ms)
 end
 if options ~= '' then
  bits = bits + 1
  tail = tail .. struct.pack('>Hc0', #options, options)
 end
 head = struct.pack('>BHI6', bits, tries, expires) .. tail
end
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
local prefix, before_first = time_part .. ARGV[3], ARGV[4] - 10
local records, members = {
}, {
}
for i = 10, #ARGV do
 local counter_part
 do
  local value_3 = before_first + i
  local c_3 = value_3 % 32
  value_3 = (value_3 - c_3) / 32
  local b_3 = value_3 % 32
  counter_part = string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
 end
 local id = prefix .. counter_part
 records[#records + 1] = id
 records[#records + 1] = head .. ARGV[i]
 members[#members + 1] = now
 members[#members + 1] = id
end
redis.call('ZADD', KEYS[2], unpack(members))
redis.call('HSET', KEYS[1], unpack(records))
do
 local added = #ARGV - 10 + 1
 if redis.call('HLEN', KEYS[1]) == added then
  redis.call('ZADD', KEYS[3], 0, ARGV[2])
 end
end
do
 local ms = now + 60000
 redis.call('ZADD', KEYS[4], 'LT', math.min(ms, now + 600000), ARGV[2])
end
return {
 'ok',
 now,
}
