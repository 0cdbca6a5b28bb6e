--{"name": "publish_staged_blocked", "purpose": "begins jobs that wait for others, whose records have been staged (edge C). All or nothing.", "keys": ["staged", "expiring", "sweeps", "stats", "active", "events", "counters", "blocked", "outgoing"], "args": ["now_ms", "queue", "cap", "random", "counter", "delay", "at", "ttl"], "rest": true, "replies": ["ok", "gone"]}
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
local due_ms = ARGV[7] ~= '' and math.max(now, tonumber(ARGV[7])) or now + ARGV[6]
local ids, sizes, prefix, before_first = {
 'ok',
}, {
}, time_part() .. ARGV[4], ARGV[5] - 9
for i = 9, #ARGV do
 ids[#ids + 1] = prefix .. counter_part(before_first + i)
 sizes[#sizes + 1] = ARGV[i]
end
for _, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(ids, 2))) do
 if not score then
  return {
   'gone',
  }
 end
end
redis.call('ZREM', KEYS[1], unpack(ids, 2))
do
 local wait, expires = due_ms - now, tonumber(ARGV[8]) > 0 and now + ARGV[8] or 0
 local places, messages, ends, line_middle = {
 }, {
 }, {
 }, '\t\t' .. (wait > 0 and wait or '') .. '\t\t'
 for i_2 = 2, #ids do
  local id = ids[i_2]
  places[2 * i_2 - 3], places[2 * i_2 - 2] = due_ms, id
  messages[2 * i_2 - 3], messages[2 * i_2 - 2] = now, ('waits\t' .. ARGV[2] .. '\t' .. id)
  ends[2 * i_2 - 3], ends[2 * i_2 - 2] = expires, id
  do
   local line = 'published\t' .. id .. line_middle .. sizes[i_2 - 1] .. '\t\t'
   event_lines[#event_lines + 1] = line
  end
 end
 redis.call('ZADD', KEYS[8], unpack(places))
 redis.call('ZADD', KEYS[9], unpack(messages))
 if expires > 0 then
  redis.call('ZADD', KEYS[2], unpack(ends))
  do
   redis.call('ZADD', KEYS[3], 'LT', math.min(expires, now + 600000), ARGV[2])
  end
 end
 do
  local count = #ids - 1
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. 'p'
  if redis.call('HINCRBY', KEYS[4], field, count) == count then
   repeat
    if redis.call('HGET', KEYS[4], 'm') == tostring(minute) then
     break
    end
    for __2, field_2 in ipairs(redis.call('HKEYS', KEYS[4])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[4], field_2)
     end
    end
    redis.call('HSET', KEYS[4], 'm', minute)
    redis.call('EXPIRE', KEYS[4], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', minute - 10)
    redis.call('ZADD', KEYS[5], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[5], 10 * 60)
   until true
  end
 end
end
repeat
 local total = #event_lines
 local most = tonumber(ARGV[3])
 if total == 0 or most == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last)
  redis.call('XADD', KEYS[6], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[7], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[7], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[6], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[7], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[6], from, '+', 'COUNT', 100)
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
   redis.call('XTRIM', KEYS[6], 'MAXLEN', redis.call('XLEN', KEYS[6]) - entries)
   redis.call('HINCRBY', KEYS[7], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[7], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[7], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[7], 'events_dropped', dropped)
   redis.call('HSET', KEYS[7], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return ids
