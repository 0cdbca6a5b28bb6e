--{"name": "publish_blocked", "purpose": "adds jobs that wait for others (edge C). All or nothing. They are subscribed to their dependencies", "keys": ["jobs", "runs", "expiring", "keys", "priorities", "blocked", "waits", "dependants", "flags", "queues", "sweeps", "stats", "active", "events", "counters", "outgoing"], "args": ["now_ms", "queue", "cap", "random", "counter", "delay", "at", "ttl", "tries", "priority", "options", "key", "key_ttl", "policy", "open", "number"], "rest": true, "replies": ["ok", "duplicate", "ttl_short"]}
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
local event_lines = {
}
local ttl_ms, wait, first_body = tonumber(ARGV[8]), tonumber(ARGV[6]), 17 + tonumber(ARGV[16])
local due_ms = wait > 0 and now_up + wait or now
if ARGV[7] ~= '' then
 due_ms = math.max(now, tonumber(ARGV[7]))
 wait = due_ms - now
end
if ttl_ms > 0 and wait > ttl_ms then
 return {
  'ttl_short',
 }
end
local value = ARGV[12] ~= ''
if value then
 local holder_of_key
 repeat
  local held = redis.call('HGET', KEYS[4], ARGV[12])
  if not held then
   holder_of_key = nil
   break
  end
  local expires, id = struct.unpack('>I6c26', held)
  holder_of_key = (expires == 0 or expires > now) and id or nil
 until true
 value = holder_of_key
end
local holder = value
if holder then
 do
  redis.call('PEXPIRE', KEYS[4], 60000)
  redis.call('PERSIST', KEYS[4])
 end
 return {
  'duplicate',
  holder,
 }
end
local expires_2 = ttl_ms > 0 and now + ttl_ms or 0
local head
do
 local tries, due_ms_2, options = tonumber(ARGV[9]), wait > 0 and due_ms or nil, ARGV[11]
 local bits = 0
 local tail = ''
 if due_ms_2 then
  bits = 2
  tail = struct.pack('>I6', due_ms_2)
 end
 if options ~= '' then
  bits = bits + 1
  tail = tail .. struct.pack('>Hc0', #options, options)
 end
 head = struct.pack('>BHI6', bits, tries, expires_2) .. tail
end
local is_key_awaited
repeat
 if ARGV[12] == '' then
  is_key_awaited = false
  break
 end
 is_key_awaited = #redis.call('ZRANGEBYLEX', KEYS[8], '[:' .. ARGV[12] .. '\t', '(:' .. ARGV[12] .. '\n', 'LIMIT', 0, 1) > 0
until true
local run = struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, ARGV[9], is_key_awaited and 4 or 0, expires_2, due_ms, 0, #ARGV[11], ARGV[11], 0, '')
local time_part
do
 local low = now % 33554432
 local five_digits
 do
  local value_2 = (now - low) / 33554432
  local e = value_2 % 32
  value_2 = (value_2 - e) / 32
  local d = value_2 % 32
  value_2 = (value_2 - d) / 32
  local c = value_2 % 32
  value_2 = (value_2 - c) / 32
  local b = value_2 % 32
  five_digits = string.char(DIGITS[(value_2 - b) / 32 + 1], DIGITS[b + 1], DIGITS[c + 1], DIGITS[d + 1], DIGITS[e + 1])
 end
 local five_digits_2
 do
  local value_3 = low
  local e_2 = value_3 % 32
  value_3 = (value_3 - e_2) / 32
  local d_2 = value_3 % 32
  value_3 = (value_3 - d_2) / 32
  local c_2 = value_3 % 32
  value_3 = (value_3 - c_2) / 32
  local b_2 = value_3 % 32
  five_digits_2 = string.char(DIGITS[(value_3 - b_2) / 32 + 1], DIGITS[b_2 + 1], DIGITS[c_2 + 1], DIGITS[d_2 + 1], DIGITS[e_2 + 1])
 end
 time_part = five_digits .. five_digits_2
end
local prefix, before_first = time_part .. ARGV[4], ARGV[5] - first_body
local ids, records, new_runs, sizes = {
 'ok',
}, {
}, {
}, {
}
for i = first_body, #ARGV do
 local counter_part
 do
  local value_4 = before_first + i
  local c_3 = value_4 % 32
  value_4 = (value_4 - c_3) / 32
  local b_3 = value_4 % 32
  counter_part = string.char(DIGITS[(value_4 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
 end
 local id_2 = prefix .. counter_part
 ids[#ids + 1] = id_2
 sizes[#sizes + 1] = #ARGV[i]
 records[#records + 1], records[#records + 2] = id_2, head .. ARGV[i]
 new_runs[#new_runs + 1], new_runs[#new_runs + 2] = id_2, run
end
redis.call('HSET', KEYS[1], unpack(records))
redis.call('HSET', KEYS[2], unpack(new_runs))
do
 local its_key
 repeat
  local options_2 = ARGV[11]
  if options_2 == '' or string.byte(options_2, 7) % 128 < 64 then
   its_key = nil
   break
  end
  its_key = string.sub(options_2, -1 - string.byte(options_2, -1), -2)
 until true
 if its_key then
  do
   local its_key_2 = its_key
   local number = 140737488355328 + redis.call('HINCRBY', KEYS[9], 'l:' .. ARGV[2], #ids - 1) - #ids
   local band, places, fields = its_key_2 .. string.char(0, 100 - ARGV[10]), {
   }, {
   }
   for i_2 = 2, #ids do
    local place = band .. struct.pack('>I6', number + i_2)
    places[i_2 - 1] = place
    fields[2 * i_2 - 3], fields[2 * i_2 - 2] = ids[i_2], place
   end
   redis.call('HSET', KEYS[5], unpack(fields))
  end
 else
  repeat
   local its_priority = tonumber(ARGV[10])
   if its_priority == 0 then
    break
   end
   local its_priorities = {
   }
   for i_3 = 2, #ids do
    its_priorities[2 * i_3 - 3], its_priorities[2 * i_3 - 2] = ids[i_3], its_priority
   end
   redis.call('HSET', KEYS[5], unpack(its_priorities))
  until true
 end
end
do
 local last = first_body - 1
 local members, untold = {
 }, '?' .. ARGV[14]
 for i_4 = 2, #ids do
  local head_2 = ids[i_4] .. '\t'
  if ARGV[15] == '1' then
   members[#members + 1], members[#members + 2] = 0, head_2 .. '+' .. ARGV[14]
  end
  for j = 17, last do
   members[#members + 1], members[#members + 2] = 0, head_2 .. untold .. ARGV[j]
   if #members >= 2000 then
    redis.call('ZADD', KEYS[7], unpack(members))
    members = {
    }
   end
  end
 end
 if #members > 0 then
  redis.call('ZADD', KEYS[7], unpack(members))
 end
end
do
 local due_ms_3, wait_2 = due_ms, wait
 local places_2, messages, ends, line_middle = {
 }, {
 }, {
 }, '\t\t' .. (wait_2 > 0 and wait_2 or '') .. '\t\t'
 for i_5 = 2, #ids do
  local id_3 = ids[i_5]
  places_2[2 * i_5 - 3], places_2[2 * i_5 - 2] = due_ms_3, id_3
  messages[2 * i_5 - 3], messages[2 * i_5 - 2] = now, ('waits\t' .. ARGV[2] .. '\t' .. id_3)
  ends[2 * i_5 - 3], ends[2 * i_5 - 2] = expires_2, id_3
  do
   local line = 'published\t' .. id_3 .. line_middle .. sizes[i_5 - 1] .. '\t\t'
   event_lines[#event_lines + 1] = line
  end
 end
 redis.call('ZADD', KEYS[6], unpack(places_2))
 redis.call('ZADD', KEYS[16], unpack(messages))
 if expires_2 > 0 then
  redis.call('ZADD', KEYS[3], unpack(ends))
  do
   redis.call('ZADD', KEYS[11], 'LT', math.min(expires_2, now + 600000), ARGV[2])
  end
 end
 do
  local count = #ids - 1
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. 'p'
  if redis.call('HINCRBY', KEYS[12], field, count) == count then
   repeat
    if redis.call('HGET', KEYS[12], 'm') == tostring(minute) then
     break
    end
    for _, field_2 in ipairs(redis.call('HKEYS', KEYS[12])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[12], field_2)
     end
    end
    redis.call('HSET', KEYS[12], 'm', minute)
    redis.call('EXPIRE', KEYS[12], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[13], '-inf', minute - 10)
    redis.call('ZADD', KEYS[13], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[13], 10 * 60)
   until true
  end
 end
end
if ARGV[12] ~= '' then
 do
  local id_4 = ids[2]
  local for_ms = tonumber(ARGV[13])
  redis.call('HSET', KEYS[4], ARGV[12], struct.pack('>I6c26', for_ms > 0 and now + for_ms or 0, id_4))
  if for_ms > 0 then
   repeat
    local expires_3 = now + for_ms
    local field_3, look_at = 'k:' .. ARGV[2], math.min(expires_3, now + 600000)
    if redis.call('HSETNX', KEYS[9], field_3, string.format('%.0f 0 0', look_at)) == 1 then
     redis.call('ZADD', KEYS[11], 'LT', math.min(look_at, now + 600000), ARGV[2])
     break
    end
    local at, cursor, earliest = string.match(redis.call('HGET', KEYS[9], field_3), '^(%d+) (%d+) (%d+)$')
    if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires_3) then
     redis.call('HSET', KEYS[9], field_3, string.format('%s %s %.0f', at, cursor, expires_3))
    end
   until true
  end
 end
end
do
 local added = #sizes
 if redis.call('HLEN', KEYS[1]) == added then
  redis.call('ZADD', KEYS[10], 0, ARGV[2])
 end
end
repeat
 local total = #event_lines
 local most = tonumber(ARGV[3])
 if total == 0 or most == 0 then
  break
 end
 local added_2 = 0
 for first = 1, total, 64 do
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[14], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added_2 = added_2 + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[15], math.floor(now / 86400000), total)
 local held_2 = redis.call('HINCRBY', KEYS[15], 'events_bytes', added_2)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held_2 >= full and held_2 - added_2 < full then
  redis.pcall('PUBLISH', KEYS[14], held_2)
 end
 if held_2 > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[15], 'events_most') or most)
 end
 if held_2 > most then
  do
   local most_2, added_3 = most - math.floor(most / 64), added_2
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[14], from, '+', 'COUNT', 100)
    for __2, entry in ipairs(found) do
     if held_2 - freed <= most_2 then
      break
     end
     local fields_2 = entry[2]
     dropped = dropped + tonumber(fields_2[6])
     local event_bytes
     do
      local place_2, lines_2 = fields_2[4], fields_2[8]
      event_bytes = 40 + math.floor(1.2 * (#place_2 + #lines_2))
     end
     freed = freed + event_bytes
     entries = entries + 1
     from = '(' .. entry[1]
    end
   until freed >= added_3 or held_2 - freed <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[14], 'MAXLEN', redis.call('XLEN', KEYS[14]) - entries)
   redis.call('HINCRBY', KEYS[15], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[15], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[15], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[15], 'events_dropped', dropped)
   redis.call('HSET', KEYS[15], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return ids
