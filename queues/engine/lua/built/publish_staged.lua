--{"name": "publish_staged", "purpose": "begins the jobs whose records have been staged (edges A and B). All or nothing.", "keys": ["jobs", "staged", "runs", "expiring", "keys", "ready", "prio", "priorities", "delayed", "flags", "due", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "dependants", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "random", "counter", "delay", "at", "ttl", "tries", "priority", "options", "key", "key_ttl"], "rest": true, "replies": ["ok", "duplicate", "gone", "ttl_short"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function note_places(ids, its_key)
 local number = 140737488355328 + redis.call('HINCRBY', KEYS[10], 'l:' .. ARGV[2], #ids - 1) - #ids
 local band, places, fields = its_key .. string.char(0, 100 - ARGV[11]), {
 }, {
 }
 for i = 2, #ids do
  local place = band .. struct.pack('>I6', number + i)
  places[i - 1] = place
  fields[2 * i - 3], fields[2 * i - 2] = ids[i], place
 end
 redis.call('HSET', KEYS[8], unpack(fields))
 return places
end
local DIGITS = {
 string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
}
local function counter_part(value)
 local c = value % 32
 value = (value - c) / 32
 local b = value % 32
 return string.char(DIGITS[(value - b) / 32 + 1], DIGITS[b + 1], DIGITS[c + 1])
end
local event_lines = {
}
local sizes, ids_2 = {
}, {
}
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
  local c_2 = value_2 % 32
  value_2 = (value_2 - c_2) / 32
  local b_2 = value_2 % 32
  five_digits = string.char(DIGITS[(value_2 - b_2) / 32 + 1], DIGITS[b_2 + 1], DIGITS[c_2 + 1], DIGITS[d + 1], DIGITS[e + 1])
 end
 local five_digits_2
 do
  local value_3 = low
  local e_2 = value_3 % 32
  value_3 = (value_3 - e_2) / 32
  local d_2 = value_3 % 32
  value_3 = (value_3 - d_2) / 32
  local c_3 = value_3 % 32
  value_3 = (value_3 - c_3) / 32
  local b_3 = value_3 % 32
  five_digits_2 = string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1], DIGITS[d_2 + 1], DIGITS[e_2 + 1])
 end
 time_part = five_digits .. five_digits_2
end
local prefix, before_first = time_part .. ARGV[5], ARGV[6] - 15
for i_2 = 15, #ARGV do
 sizes[#sizes + 1] = ARGV[i_2]
 ids_2[#ids_2 + 1] = prefix .. counter_part(before_first + i_2)
end
for _, score in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(ids_2))) do
 if not score then
  return {
   'gone',
  }
 end
end
redis.call('ZREM', KEYS[2], unpack(ids_2))
local added
repeat
 local ttl_ms, wait = tonumber(ARGV[9]), tonumber(ARGV[7])
 local due_ms = wait > 0 and now_up + wait or now
 if (ARGV[8] ~= '') then
  due_ms = (tonumber(ARGV[8]))
  wait = due_ms - now
 end
 local is_delayed = wait > 0
 if ttl_ms > 0 and wait > ttl_ms then
  added = {
   'ttl_short',
  }
  break
 end
 if ARGV[13] ~= '' and true then
  local holder
  repeat
   local held = redis.call('HGET', KEYS[5], ARGV[13])
   if not held then
    holder = nil
    break
   end
   local expires, id = struct.unpack('>I6c26', held)
   holder = (expires == 0 or expires > now) and id or nil
  until true
  if holder then
   do
    redis.call('PEXPIRE', KEYS[5], 60000)
    redis.call('PERSIST', KEYS[5])
   end
   added = {
    'duplicate',
    holder,
   }
   break
  end
 end
 local expires_2 = ttl_ms > 0 and now + ttl_ms or 0
 local head
 do
  local tries, due_ms_2, options = tonumber(ARGV[10]), is_delayed and due_ms or nil, ARGV[12]
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
 local time_part_2
 do
  local low_2 = now % 33554432
  local five_digits_3
  do
   local value_4 = (now - low_2) / 33554432
   local e_3 = value_4 % 32
   value_4 = (value_4 - e_3) / 32
   local d_3 = value_4 % 32
   value_4 = (value_4 - d_3) / 32
   local c_4 = value_4 % 32
   value_4 = (value_4 - c_4) / 32
   local b_4 = value_4 % 32
   five_digits_3 = string.char(DIGITS[(value_4 - b_4) / 32 + 1], DIGITS[b_4 + 1], DIGITS[c_4 + 1], DIGITS[d_3 + 1], DIGITS[e_3 + 1])
  end
  local five_digits_4
  do
   local value_5 = low_2
   local e_4 = value_5 % 32
   value_5 = (value_5 - e_4) / 32
   local d_4 = value_5 % 32
   value_5 = (value_5 - d_4) / 32
   local c_5 = value_5 % 32
   value_5 = (value_5 - c_5) / 32
   local b_5 = value_5 % 32
   five_digits_4 = string.char(DIGITS[(value_5 - b_5) / 32 + 1], DIGITS[b_5 + 1], DIGITS[c_5 + 1], DIGITS[d_4 + 1], DIGITS[e_4 + 1])
  end
  time_part_2 = five_digits_3 .. five_digits_4
 end
 local prefix_2 = time_part_2 .. ARGV[5]
 local line_middle = is_delayed and '\t\t' .. wait .. '\t\t' or '\t\t\t\t'
 local line_end, size = '', -1
 local count, before_first_2 = sizes and #sizes or #nil, ARGV[6] - 1
 local ids_3, records, new_runs, its_run = {
  'ok',
 }, {
 }, nil, nil
 local is_awaited
 repeat
  if ARGV[13] == '' then
   is_awaited = false
   break
  end
  is_awaited = #redis.call('ZRANGEBYLEX', KEYS[19], '[:' .. ARGV[13] .. '\t', '(:' .. ARGV[13] .. '\n', 'LIMIT', 0, 1) > 0
 until true
 for i_3 = 1, count do
  local counter_part_2
  do
   local value_6 = before_first_2 + i_3
   local c_6 = value_6 % 32
   value_6 = (value_6 - c_6) / 32
   local b_6 = value_6 % 32
   counter_part_2 = string.char(DIGITS[(value_6 - b_6) / 32 + 1], DIGITS[b_6 + 1], DIGITS[c_6 + 1])
  end
  local id_2 = prefix_2 .. counter_part_2
  ids_3[i_3 + 1] = id_2
  local its_size = sizes and tonumber(sizes[i_3]) or #(nil)[i_3]
  if not sizes then
   records[2 * i_3 - 1], records[2 * i_3] = id_2, head .. (nil)[i_3]
  end
  if its_size > 4096 - #head or is_awaited then
   new_runs = new_runs or {
   }
   its_run = its_run or struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, ARGV[10], is_awaited and 4 or 0, expires_2, due_ms, 0, #ARGV[12], ARGV[12], 0, '')
   new_runs[#new_runs + 1] = id_2
   new_runs[#new_runs + 1] = its_run
  end
  if its_size ~= size then
   size = its_size
   line_end = line_middle .. string.format('%d\t\t', size)
  end
  do
   local line = 'published\t' .. id_2 .. line_end
   event_lines[#event_lines + 1] = line
  end
 end
 if not sizes then
  redis.call('HSET', KEYS[1], unpack(records))
 end
 if new_runs then
  redis.call('HSET', KEYS[3], unpack(new_runs))
 end
 if ARGV[13] ~= '' then
  do
   local id_3 = ids_3[2]
   local for_ms = tonumber(ARGV[14])
   redis.call('HSET', KEYS[5], ARGV[13], struct.pack('>I6c26', for_ms > 0 and now + for_ms or 0, id_3))
   if for_ms > 0 then
    repeat
     local expires_3 = now + for_ms
     local field, look_at = 'k:' .. ARGV[2], math.min(expires_3, now + 600000)
     if redis.call('HSETNX', KEYS[10], field, string.format('%.0f 0 0', look_at)) == 1 then
      redis.call('ZADD', KEYS[13], 'LT', math.min(look_at, now + 600000), ARGV[2])
      break
     end
     local at, cursor, earliest = string.match(redis.call('HGET', KEYS[10], field), '^(%d+) (%d+) (%d+)$')
     if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires_3) then
      redis.call('HSET', KEYS[10], field, string.format('%s %s %.0f', at, cursor, expires_3))
     end
    until true
   end
  end
 end
 local value_7 = expires_2 > 0
 if value_7 then
  local expect_expiry
  repeat
   local due_ms_3 = due_ms
   local horizon = redis.call('HGET', KEYS[10], 'h:' .. ARGV[2])
   if horizon and expires_2 >= tonumber(horizon) and due_ms_3 <= expires_2 then
    expect_expiry = horizon
    break
   end
   if horizon or due_ms_3 > expires_2 then
    local members = {
    }
    for i_4 = 2, #ids_3 do
     members[#members + 1] = expires_2
     members[#members + 1] = ids_3[i_4]
    end
    redis.call('ZADD', KEYS[4], unpack(members))
   else
    redis.call('HSET', KEYS[10], 'h:' .. ARGV[2], expires_2)
   end
   do
    redis.call('ZADD', KEYS[13], 'LT', math.min(expires_2, now + 600000), ARGV[2])
   end
   expect_expiry = horizon
  until true
  value_7 = expect_expiry
 end
 local horizon_2 = value_7
 if horizon_2 then
  do
   local size_2, change = redis.call('HLEN', KEYS[1]), #ids_3
   if size_2 % 500 < change then
    do
     local ms = (size_2 > 500 and horizon_2 - 10000 or tonumber(horizon_2))
     redis.call('ZADD', KEYS[13], 'LT', math.min(ms, now + 600000), ARGV[2])
    end
   end
  end
 end
 if not (sizes or horizon_2) then
  do
   if redis.call('HLEN', KEYS[1]) == count then
    redis.call('ZADD', KEYS[12], 0, ARGV[2])
   end
  end
 end
 repeat
  local its_key_2
  repeat
   local options_2 = ARGV[12]
   if options_2 == '' or string.byte(options_2, 7) % 128 < 64 then
    its_key_2 = nil
    break
   end
   its_key_2 = string.sub(options_2, -1 - string.byte(options_2, -1), -2)
  until true
  if not its_key_2 then
   local its_priority = tonumber(ARGV[11])
   if not sizes then
    repeat
     if its_priority == 0 then
      break
     end
     local its_priorities = {
     }
     for i_5 = 2, #ids_3 do
      its_priorities[2 * i_5 - 3], its_priorities[2 * i_5 - 2] = ids_3[i_5], its_priority
     end
     redis.call('HSET', KEYS[8], unpack(its_priorities))
    until true
   end
   if is_delayed then
    break
   end
   if its_priority == 0 then
    redis.call('RPUSH', KEYS[6], unpack(ids_3, 2))
   else
    local free_rank
    repeat
     local band_2 = (100 - its_priority) * 17592186044416
     local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
     local last = redis.call('ZREVRANGEBYSCORE', KEYS[7], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
     free_rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
    until true
    local rank, members_2 = free_rank, {
    }
    for i_6 = 2, #ids_3 do
     members_2[2 * i_6 - 3], members_2[2 * i_6 - 2] = string.format('%.0f', (rank + i_6 - 2)), ids_3[i_6]
    end
    redis.call('ZADD', KEYS[7], unpack(members_2))
   end
   break
  end
  if sizes and is_delayed then
   break
  end
  local places_2, members_3 = sizes and redis.call('HMGET', KEYS[8], unpack(ids_3, 2)) or note_places(ids_3, its_key_2), {
  }
  if is_delayed then
   break
  end
  for i_7 = 2, #ids_3 do
   members_3[2 * i_7 - 3], members_3[2 * i_7 - 2] = 0, places_2[i_7 - 1] .. ids_3[i_7]
  end
  redis.call('ZADD', KEYS[20], unpack(members_3))
  repeat
   local its_key_3 = its_key_2
   local turn_of
   do
    local score_2 = tonumber(redis.call('ZSCORE', KEYS[21], its_key_3) or nil)
    turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
   end
   if turn_of then
    break
   end
   local virtual, __2, start
   do
    local raw = redis.call('HMGET', KEYS[22], '', its_key_3)
    local virtual_2
    repeat
     local raw_2 = raw[1]
     if not raw_2 then
      virtual_2 = 0, 0, 0
      break
     end
     virtual_2 = struct.unpack('>ddd', raw_2)
    until true
    local in_work, start_2, tat
    repeat
     local raw_3 = raw[2]
     if not raw_3 then
      in_work, start_2, tat = 0, 0, 0
      break
     end
     in_work, start_2, tat = struct.unpack('>I4dd', raw_3)
    until true
    virtual, __2, start = virtual_2, in_work, start_2, tat
   end
   local format_turn
   do
    local score_3 = math.max(virtual, start)
    format_turn = string.format('%.0f', score_3)
   end
   redis.call('ZADD', KEYS[21], format_turn, its_key_3)
  until true
 until true
 if is_delayed then
  local members_4 = {
  }
  for i_8 = 1, count do
   members_4[2 * i_8 - 1], members_4[2 * i_8] = due_ms, ids_3[i_8 + 1]
  end
  redis.call('ZADD', KEYS[9], unpack(members_4))
  do
   local ms_2 = due_ms
   if (redis.call('ZADD', KEYS[11], 'LT', 'CH', ms_2, ARGV[2]) == 1) then
    do
     local is_waited_for
     do
      local mark = redis.call('ZSCORE', KEYS[14], ARGV[2])
      is_waited_for = mark and tonumber(mark) > now
     end
     if is_waited_for then
      redis.call('PUBLISH', ARGV[3], 'due\t' .. ARGV[2] .. '\t' .. ms_2)
     end
    end
   end
  end
 else
  do
   local is_waited_for_2
   do
    local mark_2 = redis.call('ZSCORE', KEYS[14], ARGV[2])
    is_waited_for_2 = mark_2 and tonumber(mark_2) > now
   end
   if is_waited_for_2 then
    redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count)
   end
  end
 end
 do
  local minute = math.floor(now / 60000)
  local field_2 = string.format('%d', minute) .. 'p'
  if redis.call('HINCRBY', KEYS[15], field_2, count) == count then
   repeat
    if redis.call('HGET', KEYS[15], 'm') == tostring(minute) then
     break
    end
    for __3, field_3 in ipairs(redis.call('HKEYS', KEYS[15])) do
     local its = tonumber(string.match(field_3, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[15], field_3)
     end
    end
    redis.call('HSET', KEYS[15], 'm', minute)
    redis.call('EXPIRE', KEYS[15], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[16], '-inf', minute - 10)
    redis.call('ZADD', KEYS[16], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[16], 10 * 60)
   until true
  end
 end
 added = ids_3
until true
repeat
 local total = #event_lines
 local most = tonumber(ARGV[4])
 if total == 0 or most == 0 then
  break
 end
 local added_2 = 0
 for first = 1, total, 64 do
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[17], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added_2 = added_2 + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[18], math.floor(now / 86400000), total)
 local held_2 = redis.call('HINCRBY', KEYS[18], 'events_bytes', added_2)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held_2 >= full and held_2 - added_2 < full then
  redis.pcall('PUBLISH', KEYS[17], held_2)
 end
 if held_2 > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[18], 'events_most') or most)
 end
 if held_2 > most then
  do
   local most_2, added_3 = most - math.floor(most / 64), added_2
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[17], from_2, '+', 'COUNT', 100)
    for __4, entry in ipairs(found) do
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
     from_2 = '(' .. entry[1]
    end
   until freed >= added_3 or held_2 - freed <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[17], 'MAXLEN', redis.call('XLEN', KEYS[17]) - entries)
   redis.call('HINCRBY', KEYS[18], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[18], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[18], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[18], 'events_dropped', dropped)
   redis.call('HSET', KEYS[18], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return added
