--{"name": "stage", "purpose": "writes records of a large publish ahead of it, a part of them in each call, so that no call takes long. They", "keys": ["jobs", "runs", "waits", "priorities", "staged", "flags", "queues", "sweeps"], "args": ["now_ms", "queue", "random", "counter", "delay", "at", "ttl", "tries", "priority", "options", "policy", "open", "number"], "rest": true, "replies": ["ok", "ttl_short"]}
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
 local tries, expires, due_ms, options = tonumber(ARGV[8]), ttl_ms > 0 and now + ttl_ms or 0, wait > 0 and now + wait or nil, ARGV[10]
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
local first_body = 14 + tonumber(ARGV[13])
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
local prefix, before_first = time_part .. ARGV[3], ARGV[4] - first_body
local records, members, ids, new_runs = {
}, {
}, {
 'ok',
}, {
}
local due_ms_2 = ARGV[6] ~= '' and math.max(now, tonumber(ARGV[6])) or now + wait
local its_run = struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, ARGV[8], 0, ttl_ms > 0 and now + ttl_ms or 0, due_ms_2, 0, #ARGV[10], ARGV[10], 0, '')
for i = first_body, #ARGV do
 local counter_part
 do
  local value_3 = before_first + i
  local c_3 = value_3 % 32
  value_3 = (value_3 - c_3) / 32
  local b_3 = value_3 % 32
  counter_part = string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
 end
 local id = prefix .. counter_part
 ids[#ids + 1] = id
 records[#records + 1], records[#records + 2] = id, head .. ARGV[i]
 members[#members + 1], members[#members + 2] = now, id
 new_runs[#new_runs + 1], new_runs[#new_runs + 2] = id, its_run
end
redis.call('ZADD', KEYS[5], unpack(members))
redis.call('HSET', KEYS[1], unpack(records))
if ARGV[11] ~= '' then
 redis.call('HSET', KEYS[2], unpack(new_runs))
 do
  local last = first_body - 1
  local members_2, untold = {
  }, '?' .. ARGV[11]
  for i_2 = 2, #ids do
   local head_2 = ids[i_2] .. '\t'
   if ARGV[12] == '1' then
    members_2[#members_2 + 1], members_2[#members_2 + 2] = 0, head_2 .. '+' .. ARGV[11]
   end
   for j = 14, last do
    members_2[#members_2 + 1], members_2[#members_2 + 2] = 0, head_2 .. untold .. ARGV[j]
    if #members_2 >= 2000 then
     redis.call('ZADD', KEYS[3], unpack(members_2))
     members_2 = {
     }
    end
   end
  end
  if #members_2 > 0 then
   redis.call('ZADD', KEYS[3], unpack(members_2))
  end
 end
end
do
 local its_key
 repeat
  local options_2 = ARGV[10]
  if options_2 == '' or string.byte(options_2, 7) % 128 < 64 then
   its_key = nil
   break
  end
  its_key = string.sub(options_2, -1 - string.byte(options_2, -1), -2)
 until true
 if its_key then
  do
   local its_key_2 = its_key
   local number = 140737488355328 + redis.call('HINCRBY', KEYS[6], 'l:' .. ARGV[2], #ids - 1) - #ids
   local band, places, fields = its_key_2 .. string.char(0, 100 - ARGV[9]), {
   }, {
   }
   for i_3 = 2, #ids do
    local place = band .. struct.pack('>I6', number + i_3)
    places[i_3 - 1] = place
    fields[2 * i_3 - 3], fields[2 * i_3 - 2] = ids[i_3], place
   end
   redis.call('HSET', KEYS[4], unpack(fields))
  end
 else
  repeat
   local its_priority = tonumber(ARGV[9])
   if its_priority == 0 then
    break
   end
   local its_priorities = {
   }
   for i_4 = 2, #ids do
    its_priorities[2 * i_4 - 3], its_priorities[2 * i_4 - 2] = ids[i_4], its_priority
   end
   redis.call('HSET', KEYS[4], unpack(its_priorities))
  until true
 end
end
do
 local added = #ids - 1
 if redis.call('HLEN', KEYS[1]) == added then
  redis.call('ZADD', KEYS[7], 0, ARGV[2])
 end
end
do
 local ms = now + 60000
 redis.call('ZADD', KEYS[8], 'LT', math.min(ms, now + 600000), ARGV[2])
end
return {
 'ok',
 now,
}
