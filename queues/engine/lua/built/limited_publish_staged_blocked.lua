--{"name": "limited_publish_staged_blocked", "purpose": "begins jobs that wait for others, whose records have been staged (edge C). All or nothing.", "keys": ["limit", "staged", "expiring", "sweeps", "stats", "active", "events", "counters", "blocked", "outgoing"], "args": ["allowance", "interval", "requests", "now_ms", "queue", "cap", "random", "counter", "delay", "at", "ttl"], "rest": true, "replies": ["limited", "counted", "ok", "gone"]}
local counts = {
 ok = 1,
}
local left, its_ticket, left_ms
repeat
 local left_2, its_ticket_2, left_ms_2
 repeat
  local left_3, its_ticket_3 = string.match(redis.call('GET', KEYS[1]) or '', '^(%-?%d+) (%d+)$')
  local left_ms_3 = redis.call('PTTL', KEYS[1])
  if left_3 and left_ms_3 > 0 then
   left_2, its_ticket_2, left_ms_2 = tonumber(left_3), its_ticket_3, left_ms_3
   break
  end
 until true
 if left_2 and left_ms_2 <= tonumber(ARGV[2]) then
  left, its_ticket, left_ms = left_2, its_ticket_2, left_ms_2
  break
 end
until true
local free = left or tonumber(ARGV[1])
if free <= 0 then
 return {
  'limited',
  left_ms,
 }
end
local asked = tonumber(ARGV[3])
if asked > free then
 for i = #ARGV, #ARGV - (asked - free) + 1, -1 do
  ARGV[i] = nil
 end
end
local function run()
 local now = tonumber(ARGV[4])
 local now_up = now
 if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  now_up = now + 1
 end
 local DIGITS = {
  string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
 }
 local function time_part()
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
  return five_digits .. five_digits_2
 end
 local function counter_part(value_3)
  local c_3 = value_3 % 32
  value_3 = (value_3 - c_3) / 32
  local b_3 = value_3 % 32
  return string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
 end
 local event_lines = {
 }
 local due_ms = ARGV[10] ~= '' and math.max(now, tonumber(ARGV[10])) or now + ARGV[9]
 local ids, sizes, prefix, before_first = {
  'ok',
 }, {
 }, time_part() .. ARGV[7], ARGV[8] - 12
 for i_2 = 12, #ARGV do
  ids[#ids + 1] = prefix .. counter_part(before_first + i_2)
  sizes[#sizes + 1] = ARGV[i_2]
 end
 for _, score in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(ids, 2))) do
  if not score then
   return {
    'gone',
   }
  end
 end
 redis.call('ZREM', KEYS[2], unpack(ids, 2))
 do
  local wait, expires = due_ms - now, tonumber(ARGV[11]) > 0 and now + ARGV[11] or 0
  local places, messages, ends, line_middle = {
  }, {
  }, {
  }, '\t\t' .. (wait > 0 and wait or '') .. '\t\t'
  for i_3 = 2, #ids do
   local id = ids[i_3]
   places[2 * i_3 - 3], places[2 * i_3 - 2] = due_ms, id
   messages[2 * i_3 - 3], messages[2 * i_3 - 2] = now, ('waits\t' .. ARGV[5] .. '\t' .. id)
   ends[2 * i_3 - 3], ends[2 * i_3 - 2] = expires, id
   do
    local line = 'published\t' .. id .. line_middle .. sizes[i_3 - 1] .. '\t\t'
    event_lines[#event_lines + 1] = line
   end
  end
  redis.call('ZADD', KEYS[9], unpack(places))
  redis.call('ZADD', KEYS[10], unpack(messages))
  if expires > 0 then
   redis.call('ZADD', KEYS[3], unpack(ends))
   do
    redis.call('ZADD', KEYS[4], 'LT', math.min(expires, now + 600000), ARGV[5])
   end
  end
  do
   local count = #ids - 1
   local minute = math.floor(now / 60000)
   local field = string.format('%d', minute) .. 'p'
   if redis.call('HINCRBY', KEYS[5], field, count) == count then
    repeat
     if redis.call('HGET', KEYS[5], 'm') == tostring(minute) then
      break
     end
     for __2, field_2 in ipairs(redis.call('HKEYS', KEYS[5])) do
      local its = tonumber(string.match(field_2, '^%d+'))
      if its and its <= minute - 10 then
       redis.call('HDEL', KEYS[5], field_2)
      end
     end
     redis.call('HSET', KEYS[5], 'm', minute)
     redis.call('EXPIRE', KEYS[5], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[6], '-inf', minute - 10)
     redis.call('ZADD', KEYS[6], minute, ARGV[5])
     redis.call('EXPIRE', KEYS[6], 10 * 60)
    until true
   end
  end
 end
 repeat
  local total = #event_lines
  local most = tonumber(ARGV[6])
  if total == 0 or most == 0 then
   break
  end
  local added = 0
  for first = 1, total, 64 do
   local last = math.min(first + 64 - 1, total)
   local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last)
   redis.call('XADD', KEYS[7], '*', 't', string.format('%d', now), 'q', ARGV[5], 'n', last - first + 1, 'e', lines)
   added = added + (40 + math.floor(1.2 * (#ARGV[5] + #lines)))
  end
  redis.call('HINCRBY', KEYS[8], math.floor(now / 86400000), total)
  local held = redis.call('HINCRBY', KEYS[8], 'events_bytes', added)
  local full = most < 4 * 1048576 and most / 4 or 1048576
  if held >= full and held - added < full then
   redis.pcall('PUBLISH', KEYS[7], held)
  end
  if held > most / 2 then
   most = tonumber(redis.call('HGET', KEYS[8], 'events_most') or most)
  end
  if held > most then
   do
    local most_2, added_2 = most - math.floor(most / 64), added
    local dropped, freed, entries, from = 0, 0, 0, '-'
    repeat
     local found = redis.call('XRANGE', KEYS[7], from, '+', 'COUNT', 100)
     for __3, entry in ipairs(found) do
      if held - freed <= most_2 then
       break
      end
      local fields = entry[2]
      dropped = dropped + tonumber(fields[6])
      local event_bytes
      do
       local place, lines_2 = fields[4], fields[8]
       event_bytes = 40 + math.floor(1.2 * (#place + #lines_2))
      end
      freed = freed + event_bytes
      entries = entries + 1
      from = '(' .. entry[1]
     end
    until freed >= added_2 or held - freed <= most_2 or #found < 100
    redis.call('XTRIM', KEYS[7], 'MAXLEN', redis.call('XLEN', KEYS[7]) - entries)
    redis.call('HINCRBY', KEYS[8], 'events_bytes', -freed)
    local known = redis.call('HMGET', KEYS[8], 'events_dropped', 'events_dropped_at')
    if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
     redis.call('HSET', KEYS[8], 'events_dropped_before', known[1])
    end
    redis.call('HINCRBY', KEYS[8], 'events_dropped', dropped)
    redis.call('HSET', KEYS[8], 'events_dropped_at', string.format('%d', now))
   end
  end
 until true
 return ids
end
local reply = run()
local ahead = counts[reply[1]]
if not ahead then
 return reply
end
local counted = asked == 1 and 1 or #reply - ahead
local its_2
do
 local left_4, its_ticket_4 = left, its_ticket
 if not left_4 then
  local time_2 = redis.call('TIME')
  left_4, its_ticket_4 = ARGV[1], string.format('%.0f', time_2[1] * 1000000 + time_2[2] + ARGV[2] * 1000)
 end
 do
  local left_5, its_ticket_5 = left_4 - counted, its_ticket_4
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], left_5 .. ' ' .. its_ticket_5, 'PXAT', math.floor(its_ticket_5 / 1000))
 end
 its_2 = its_ticket_4
end
return {
 'counted',
 its_2,
 reply,
 counted,
 counted == free and (left_ms or tonumber(ARGV[2])) or 0,
}
