--{"name": "advance_groups", "purpose": "one visit to the groups of a queue: members whose delay is over join, groups whose time has come are", "keys": ["jobs", "runs", "expiring", "keys", "ready", "front", "prio", "priorities", "grouped", "joining", "gathered", "group_times", "group_sizes", "batches", "flags", "due", "ends", "flushes", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "random", "counter", "limit", "only"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function key_of(options)
 if options == '' then
  return ''
 end
 local _, __2, __3, __4, its_key = struct.unpack('>I6BI6I6Hc0', options)
 return its_key
end
local DIGITS = {
 string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
}
local function is_depended_on(raw)
 return string.byte(raw, 9) >= 4
end
local event_lines = {
}
local function flush_events()
 local total = #event_lines
 local most = tonumber(ARGV[4])
 if total == 0 or most == 0 then
  return 
 end
 local added = 0
 for first = 1, total, 64 do
  local last = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last)
  redis.call('XADD', KEYS[24], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 local held = redis.call('HINCRBY', KEYS[25], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[24], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[25], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[24], from, '+', 'COUNT', 100)
    for __5, entry in ipairs(found) do
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
   redis.call('XTRIM', KEYS[24], 'MAXLEN', redis.call('XLEN', KEYS[24]) - entries)
   redis.call('HINCRBY', KEYS[25], 'events_bytes', -freed)
   redis.call('HINCRBY', KEYS[25], 'events_dropped', dropped)
   redis.call('HSET', KEYS[25], 'events_dropped_at', string.format('%d', now))
  end
 end
end
local members_left = 500
local bytes_left = 393216
local batches_left = 16
local batches_made = 0
local function drop_expired(ids)
 redis.call('ZREM', KEYS[9], unpack(ids))
 local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids))
 do
  redis.call('HDEL', KEYS[1], unpack(ids))
  redis.call('HDEL', KEYS[2], unpack(ids))
  redis.call('HDEL', KEYS[8], unpack(ids))
 end
 for __6, id in ipairs(ids) do
  do
   do
    local line = 'expired' .. '\t' .. id .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
    event_lines[#event_lines + 1] = line
   end
  end
 end
 do
  for i = 1, #ids do
   local raw_2 = raw_runs[i]
   if raw_2 and (string.byte(raw_2, 9) >= 4) then
    do
     local id_2, options_2 = ids[i], (struct.unpack('>Hc0', raw_2, 28))
     do
      local message
      do
       local key_of_2
       repeat
        if options_2 == '' then
         key_of_2 = ''
         break
        end
        local __7, __8, __9, __10, its_key_2 = struct.unpack('>I6BI6I6Hc0', options_2)
        key_of_2 = its_key_2
       until true
       message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'expired' .. '\t' .. key_of_2
      end
      redis.call('ZADD', KEYS[26], now, message)
     end
    end
   end
  end
 end
 do
  local count = #ids
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. 'x'
  if redis.call('HINCRBY', KEYS[22], field, count) == count then
   repeat
    if redis.call('HGET', KEYS[22], 'm') == tostring(minute) then
     break
    end
    for __11, field_2 in ipairs(redis.call('HKEYS', KEYS[22])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[22], field_2)
     end
    end
    redis.call('HSET', KEYS[22], 'm', minute)
    redis.call('EXPIRE', KEYS[22], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[23], '-inf', minute - 10)
    redis.call('ZADD', KEYS[23], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[23], 10 * 60)
   until true
  end
 end
end
local function count_group(group)
 local entries_2, ids_2, joined
 do
  local entries_3 = redis.call('ZRANGEBYLEX', KEYS[11], '[' .. group.name .. '\0', '(' .. group.name .. '\1', 'LIMIT', 0, 500)
  local ids_3 = {
  }
  for i_2, entry_2 in ipairs(entries_3) do
   ids_3[i_2] = string.sub(entry_2, -26)
  end
  entries_2, ids_2, joined = entries_3, ids_3, #ids_3 > 0 and redis.call('ZMSCORE', KEYS[9], unpack(ids_3)) or {
  }
 end
 local gone, expired = {
 }, {
 }
 local count_2, bytes, first_2, last_2, ends = 0, 0, nil, 0, 0
 for i_3, id_3 in ipairs(ids_2) do
  local raw_run = joined[i_3] and redis.call('HGET', KEYS[2], id_3)
  local value = joined[i_3]
  if value then
   local expiry_of
   repeat
    if raw_run then
     expiry_of = (struct.unpack('>I6', raw_run, 10))
     break
    end
    local raw_3 = redis.call('HGET', KEYS[1], id_3)
    expiry_of = raw_3 and (struct.unpack('>I6', raw_3, 4))
   until true
   value = expiry_of
  end
  local its_expiry = value
  if not its_expiry then
   gone[#gone + 1] = entries_2[i_3]
  elseif (its_expiry > 0 and its_expiry <= now) then
   gone[#gone + 1] = entries_2[i_3]
   expired[#expired + 1] = id_3
  else
   count_2 = count_2 + 1
   bytes = bytes + redis.call('HSTRLEN', KEYS[1], id_3)
   local its_time = tonumber(joined[i_3])
   first_2, last_2 = math.min(first_2 or its_time, its_time), math.max(last_2, its_time)
   if its_expiry > 0 then
    ends = ends > 0 and math.min(ends, its_expiry) or its_expiry
   end
  end
 end
 if #gone > 0 then
  redis.call('ZREM', KEYS[11], unpack(gone))
 end
 if #expired > 0 then
  drop_expired(expired)
 end
 if #entries_2 < 500 then
  group.count, group.bytes = count_2, bytes
  if count_2 > 0 then
   group.first, group.last = first_2, last_2
  end
  group.ends = ends
 else
  group.count = math.max(count_2, group.count - #gone)
  group.ends = ends > 0 and ends or now
 end
end
local function number_within(group_2, ids_4, joined_2)
 if group_2.bytes <= 393216 then
  return #ids_4
 end
 local size = 0
 for i_4, id_4 in ipairs(ids_4) do
  size = size + (joined_2[i_4] and redis.call('HSTRLEN', KEYS[1], id_4) or 0)
  if size > 393216 and i_4 > 1 then
   return i_4 - 1
  end
 end
 return #ids_4
end
local function flush_batch(group_3, is_due)
 local due_ms = (group_3.count >= group_3.most or group_3.bytes >= 393216) and now or math.min(group_3.first + group_3.delay_max, group_3.last + group_3.grace)
 local entries_4, ids_5, joined_3
 do
  local most_3 = group_3.most
  local entries_5 = redis.call('ZRANGEBYLEX', KEYS[11], '[' .. group_3.name .. '\0', '(' .. group_3.name .. '\1', 'LIMIT', 0, most_3)
  local ids_6 = {
  }
  for i_5, entry_3 in ipairs(entries_5) do
   ids_6[i_5] = string.sub(entry_3, -26)
  end
  entries_4, ids_5, joined_3 = entries_5, ids_6, #ids_6 > 0 and redis.call('ZMSCORE', KEYS[9], unpack(ids_6)) or {
  }
 end
 local number = number_within(group_3, ids_5, joined_3)
 local alive = {
 }
 for i_6 = 1, number do
  if joined_3[i_6] then
   alive[#alive + 1] = ids_5[i_6]
  end
 end
 local records = #alive > 0 and redis.call('HMGET', KEYS[1], unpack(alive)) or {
 }
 local raw_runs_2 = #alive > 0 and redis.call('HMGET', KEYS[2], unpack(alive)) or {
 }
 local found_2, expired_2, parts, size_2 = {
 }, {
 }, {
 }, 0
 for i_7, id_5 in ipairs(alive) do
  local raw_4 = records[i_7]
  local its_tries, expires, __12, its_options
  do
   local bits, tries, expires_2, at = struct.unpack('>BHI6', raw_4)
   local due_ms_2, options_3 = nil, ''
   if bits >= 2 then
    due_ms_2, at = struct.unpack('>I6', raw_4, at)
    bits = bits - 2
   end
   if bits == 1 then
    options_3, at = struct.unpack('>Hc0', raw_4, at)
   end
   its_tries, expires, __12, its_options = tries, expires_2, due_ms_2, options_3, at
  end
  local has_expired
  do
   local expires_3 = expires
   has_expired = expires_3 > 0 and expires_3 <= now
  end
  if has_expired then
   expired_2[#expired_2 + 1] = id_5
  else
   found_2[#found_2 + 1] = {
    id = id_5,
    tries = its_tries,
    expires = expires,
    options = its_options,
    is_awaited = raw_runs_2[i_7] and is_depended_on(raw_runs_2[i_7]),
   }
   parts[#parts + 1] = id_5 .. struct.pack('>I4', #raw_4)
   parts[#parts + 1] = raw_4
   size_2 = size_2 + #raw_4
  end
 end
 if #found_2 == 0 or not (is_due or #found_2 >= group_3.most or number < #ids_5 or size_2 >= 393216) then
  count_group(group_3)
  return false
 end
 redis.call('ZREM', KEYS[11], unpack(entries_4, 1, number))
 if #expired_2 > 0 then
  drop_expired(expired_2)
 end
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
 local counter_part
 do
  local value_4 = ARGV[6] + batches_made
  local c_3 = value_4 % 32
  value_4 = (value_4 - c_3) / 32
  local b_3 = value_4 % 32
  counter_part = string.char(DIGITS[(value_4 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
 end
 local batch = time_part .. ARGV[5] .. counter_part
 batches_made = batches_made + 1
 do
  local body = table.concat(parts)
  local its_options_2, its_tries_2, expires_4, marks, its_priority, ids_7
  do
   local longest, most_tries, latest, highest, marks_2 = 0, 1, 0, nil, 0
   local never, head = false, nil
   for __13, member in ipairs(found_2) do
    head = head or string.sub(member.options, 7, 19)
    longest = math.max(longest, (struct.unpack('>I6', member.options)))
    most_tries = math.max(most_tries, member.tries)
    if member.expires == 0 then
     never = true
    end
    latest = math.max(latest, member.expires)
    if member.is_awaited then
     marks_2 = 4
    end
   end
   local ids_8 = {
   }
   for i_8, member_2 in ipairs(found_2) do
    ids_8[i_8] = member_2.id
   end
   if redis.call('EXISTS', KEYS[8]) == 1 then
    for __14, its_2 in ipairs(redis.call('HMGET', KEYS[8], unpack(ids_8))) do
     highest = math.max(highest or -100, tonumber(its_2 or 0))
    end
   end
   local attributes = cjson.encode({
    group = group_3.name,
   })
   its_options_2, its_tries_2, expires_4, marks, its_priority, ids_7 = struct.pack('>I6', longest) .. head .. struct.pack('>Hc0Hc0', #'\0batch', '\0batch', #attributes, attributes) .. group_3.name .. struct.pack('>BHHI6I6', #group_3.name, #found_2, group_3.most, group_3.delay_max, group_3.grace), most_tries, never and 0 or latest, marks_2, highest or 0, ids_8
  end
  redis.call('ZREM', KEYS[9], unpack(ids_7))
  do
   local ids_9 = ids_7
   redis.call('HDEL', KEYS[1], unpack(ids_9))
   redis.call('HDEL', KEYS[2], unpack(ids_9))
   redis.call('HDEL', KEYS[8], unpack(ids_9))
  end
  local pack_head
  do
   local tries_2, expires_5, options_4 = its_tries_2, expires_4, its_options_2
   local bits_2 = 0
   local tail = ''
   if options_4 ~= '' then
    bits_2 = bits_2 + 1
    tail = tail .. struct.pack('>Hc0', #options_4, options_4)
   end
   pack_head = struct.pack('>BHI6', bits_2, tries_2, expires_5) .. tail
  end
  redis.call('HSET', KEYS[1], batch, pack_head .. body)
  redis.call('HSET', KEYS[2], batch, struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, its_tries_2, marks, expires_4, now, 0, #its_options_2, its_options_2, 0, ''))
  if its_priority ~= 0 then
   redis.call('HSET', KEYS[8], batch, its_priority)
  end
  do
   local place_2 = its_priority
   if (place_2 and string.find(place_2, '%z')) then
    do
     local place_3 = place_2
     local zero
     do
      local place_4 = place_3
      zero = place_4 and string.find(place_4, '%z')
     end
     local band, number_2 = string.sub(place_3, 1, zero + 1), nil
     number_2 = number_2 or 140737488355328 + redis.call('HINCRBY', KEYS[15], 'l:' .. ARGV[2], 1)
     place_3 = band .. struct.pack('>I6', number_2)
     redis.call('HSET', KEYS[8], batch, place_3)
     redis.call('ZADD', KEYS[27], 0, place_3 .. batch)
     repeat
      local its_key_3 = string.sub(place_3, 1, zero - 1)
      local turn_of
      do
       local score = tonumber(redis.call('ZSCORE', KEYS[28], its_key_3) or nil)
       turn_of = score and score >= -4503599627370496 and score or nil
      end
      if turn_of then
       break
      end
      local virtual, __15, start
      do
       local raw_5 = redis.call('HMGET', KEYS[29], '', its_key_3)
       local virtual_2
       repeat
        local raw_6 = raw_5[1]
        if not raw_6 then
         virtual_2 = 0, 0, 0
         break
        end
        virtual_2 = struct.unpack('>ddd', raw_6)
       until true
       local in_work, start_2, tat
       repeat
        local raw_7 = raw_5[2]
        if not raw_7 then
         in_work, start_2, tat = 0, 0, 0
         break
        end
        in_work, start_2, tat = struct.unpack('>I4dd', raw_7)
       until true
       virtual, __15, start = virtual_2, in_work, start_2, tat
      end
      local format_turn
      do
       local score_2 = math.max(virtual, start)
       format_turn = string.format('%.0f', score_2)
      end
      redis.call('ZADD', KEYS[28], format_turn, its_key_3)
     until true
    end
   else
    do
     local priority = tonumber(place_2 or 0)
     if priority == 0 then
      redis.call('RPUSH', KEYS[5], batch)
     else
      local format_rank
      do
       local rank
       repeat
        local band_2 = (100 - priority) * 17592186044416
        local from_2, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
        local last_3 = redis.call('ZREVRANGEBYSCORE', KEYS[7], to, from_2, 'WITHSCORES', 'LIMIT', 0, 1)
        rank = math.max(band_2 + now, last_3[2] and tonumber(last_3[2]) + 1 or 0)
       until true
       format_rank = string.format('%.0f', rank)
      end
      redis.call('ZADD', KEYS[7], format_rank, batch)
     end
    end
   end
  end
  if expires_4 > 0 then
   repeat
    local expires_6, due_ms_3, ids_10 = expires_4, now, {
     batch,
    }
    local horizon = redis.call('HGET', KEYS[15], 'h:' .. ARGV[2])
    if horizon and expires_6 >= tonumber(horizon) and due_ms_3 <= expires_6 then
     break
    end
    if horizon or due_ms_3 > expires_6 then
     local members = {
     }
     for i_9 = 1, #ids_10 do
      members[#members + 1] = expires_6
      members[#members + 1] = ids_10[i_9]
     end
     redis.call('ZADD', KEYS[3], unpack(members))
    else
     redis.call('HSET', KEYS[15], 'h:' .. ARGV[2], expires_6)
    end
    do
     redis.call('ZADD', KEYS[20], 'LT', math.min(expires_6, now + 600000), ARGV[2])
    end
   until true
  end
  local fields_2 = {
   batch,
   'b' .. table.concat(ids_7),
  }
  for i_10, id_6 in ipairs(ids_7) do
   fields_2[2 * i_10 + 1], fields_2[2 * i_10 + 2] = id_6, 'm' .. batch .. (found_2[i_10].is_awaited and key_of(found_2[i_10].options) or '')
  end
  redis.call('HSET', KEYS[14], unpack(fields_2))
  if redis.call('HEXISTS', KEYS[13], '') == 0 then
   redis.call('HSET', KEYS[13], '', string.format('%.0f 0', now + 600000))
   do
    local ms = now + 600000
    redis.call('ZADD', KEYS[18], 'LT', ms, ARGV[2])
   end
  end
  do
   local line_2 = 'ready\t' .. batch .. '\t\t' .. math.max(0, now - due_ms) .. '\t\t\t\t'
   event_lines[#event_lines + 1] = line_2
  end
  repeat
   local durations = {
    math.max(0, now - due_ms),
   }
   if #durations == 1 then
    local bucket
    repeat
     local ms_2 = durations[1]
     if ms_2 < 1 then
      bucket = 0
      break
     end
     bucket = math.floor(math.log(ms_2) / 0.17328679513998632 + 1e-09) + 1
    until true
    local metric = 'l' .. bucket
    local minute_2 = math.floor(now / 60000)
    local field_3 = string.format('%d', minute_2) .. metric
    if redis.call('HINCRBY', KEYS[22], field_3, 1) == 1 then
     repeat
      if redis.call('HGET', KEYS[22], 'm') == tostring(minute_2) then
       break
      end
      for __16, field_4 in ipairs(redis.call('HKEYS', KEYS[22])) do
       local its_3 = tonumber(string.match(field_4, '^%d+'))
       if its_3 and its_3 <= minute_2 - 10 then
        redis.call('HDEL', KEYS[22], field_4)
       end
      end
      redis.call('HSET', KEYS[22], 'm', minute_2)
      redis.call('EXPIRE', KEYS[22], 10 * 60)
      redis.call('ZREMRANGEBYSCORE', KEYS[23], '-inf', minute_2 - 10)
      redis.call('ZADD', KEYS[23], minute_2, ARGV[2])
      redis.call('EXPIRE', KEYS[23], 10 * 60)
     until true
    end
    break
   end
   local of_ms, counts = {
   }, {
   }
   for i_11 = 1, #durations do
    local ms_3 = durations[i_11]
    of_ms[ms_3] = (of_ms[ms_3] or 0) + 1
   end
   for ms_4, count_3 in pairs(of_ms) do
    local b_4
    repeat
     if ms_4 < 1 then
      b_4 = 0
      break
     end
     b_4 = math.floor(math.log(ms_4) / 0.17328679513998632 + 1e-09) + 1
    until true
    counts[b_4] = (counts[b_4] or 0) + count_3
   end
   for b_5, count_4 in pairs(counts) do
    do
     local metric_2 = 'l' .. b_5
     local minute_3 = math.floor(now / 60000)
     local field_5 = string.format('%d', minute_3) .. metric_2
     if redis.call('HINCRBY', KEYS[22], field_5, count_4) == count_4 then
      repeat
       if redis.call('HGET', KEYS[22], 'm') == tostring(minute_3) then
        break
       end
       for __17, field_6 in ipairs(redis.call('HKEYS', KEYS[22])) do
        local its_4 = tonumber(string.match(field_6, '^%d+'))
        if its_4 and its_4 <= minute_3 - 10 then
         redis.call('HDEL', KEYS[22], field_6)
        end
       end
       redis.call('HSET', KEYS[22], 'm', minute_3)
       redis.call('EXPIRE', KEYS[22], 10 * 60)
       redis.call('ZREMRANGEBYSCORE', KEYS[23], '-inf', minute_3 - 10)
       redis.call('ZADD', KEYS[23], minute_3, ARGV[2])
       redis.call('EXPIRE', KEYS[23], 10 * 60)
      until true
     end
    end
   end
  until true
 end
 local its_keys, ids_with_key = {
 }, {
 }
 for __18, member_3 in ipairs(found_2) do
  local its_key_4
  repeat
   local options_5 = member_3.options
   if options_5 == '' then
    its_key_4 = ''
    break
   end
   local __19, __20, __21, __22, its_key_5 = struct.unpack('>I6BI6I6Hc0', options_5)
   its_key_4 = its_key_5
  until true
  if its_key_4 ~= '' then
   its_keys[#its_keys + 1], ids_with_key[#ids_with_key + 1] = its_key_4, member_3.id
  end
 end
 if #its_keys > 0 then
  do
   local changed, freed_2 = {
   }, {
   }
   for i_12, held_2 in ipairs(redis.call('HMGET', KEYS[4], unpack(its_keys))) do
    local its_mode = held_2 and string.sub(held_2, 7, 32) == ids_with_key[i_12] and string.sub(held_2, 33, 33)
    if its_mode == 'r' then
     freed_2[#freed_2 + 1] = its_keys[i_12]
    elseif its_mode and its_mode ~= '' then
     changed[#changed + 1] = its_keys[i_12]
     changed[#changed + 1] = string.sub(held_2, 1, 6) .. batch .. string.sub(held_2, 33)
    end
   end
   if #freed_2 > 0 then
    redis.call('HDEL', KEYS[4], unpack(freed_2))
   end
   if #changed > 0 then
    redis.call('HSET', KEYS[4], unpack(changed))
   end
  end
 end
 members_left, bytes_left, batches_left = members_left - #found_2, bytes_left - size_2, batches_left - 1
 group_3.count, group_3.bytes = math.max(0, group_3.count - number), math.max(0, group_3.bytes - size_2)
 return true
end
local changed_2 = 0
ARGV[7] = tonumber(ARGV[7])
if ARGV[8] ~= '' then
 local group_4
 repeat
  local name = ARGV[8]
  local raw_8 = redis.call('HGET', KEYS[13], name)
  if not raw_8 then
   group_4 = {
    name = name,
    count = 0,
    bytes = 0,
    first = now,
    last = now,
    ends = 0,
    most = nil,
    delay_max = nil,
    grace = nil,
   }
   break
  end
  local count_5, bytes_2, first_3, last_4, ends_2, its_most, its_delay, its_grace = struct.unpack('>I4I4I6I6I6HI6I6', raw_8)
  group_4 = {
   name = name,
   count = count_5,
   bytes = bytes_2,
   first = first_3,
   last = last_4,
   ends = ends_2,
   most = (its_most),
   delay_max = (its_delay),
   grace = (its_grace),
  }
 until true
 if group_4.count > 0 then
  do
   local group_5 = group_4
   local is_flushed = false
   while group_5.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
    local is_due_2 = true
    if not (is_due_2 or (group_5.count >= group_5.most or group_5.bytes >= 393216)) or not flush_batch(group_5, is_due_2) then
     break
    end
    is_flushed = true
    if group_5.count > 0 and not (group_5.count >= group_5.most or group_5.bytes >= 393216) then
     count_group(group_5)
    end
   end
  end
  repeat
   local group_6 = group_4
   if group_6.count == 0 then
    redis.call('ZREM', KEYS[12], group_6.name)
    redis.call('HDEL', KEYS[13], group_6.name)
    break
   end
   local time_2 = (group_6.count >= group_6.most or group_6.bytes >= 393216) and now or math.min(group_6.first + group_6.delay_max, group_6.last + group_6.grace)
   if group_6.ends > 0 then
    time_2 = math.min(time_2, math.max(group_6.ends, now + 1000))
   end
   redis.call('HSET', KEYS[13], group_6.name, struct.pack('>I4I4I6I6I6HI6I6', group_6.count, group_6.bytes, group_6.first, group_6.last, group_6.ends, group_6.most, group_6.delay_max, group_6.grace))
   redis.call('ZADD', KEYS[12], time_2, group_6.name)
   do
    local ms_5 = time_2
    redis.call('ZADD', KEYS[18], 'LT', ms_5, ARGV[2])
   end
  until true
 end
 local is_left = group_4.count > 0
 if batches_made > 0 then
  do
   local count_6 = batches_made
   local is_waited_for
   do
    local mark = redis.call('ZSCORE', KEYS[21], ARGV[2])
    is_waited_for = mark and tonumber(mark) > now
   end
   if is_waited_for then
    redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_6)
   end
  end
 end
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[5], KEYS[6])
  redis.call('HDEL', KEYS[15], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[16], ARGV[2])
  redis.call('ZREM', KEYS[17], ARGV[2])
  if redis.call('EXISTS', KEYS[4]) == 0 and redis.call('HEXISTS', KEYS[15], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[19], ARGV[2])
  end
 until true
 flush_events()
 return {
  'ok',
  batches_made,
  500 - members_left,
  is_left and 1 or 0,
 }
end
do
 local found_3 = redis.call('ZRANGEBYSCORE', KEYS[10], '-inf', now, 'LIMIT', 0, ARGV[7])
 for __23, id_7 in ipairs(found_3) do
  if not (members_left > 0 and bytes_left > 0 and batches_left > 0) then
   break
  end
  redis.call('ZREM', KEYS[10], id_7)
  if redis.call('ZSCORE', KEYS[9], id_7) then
   local raw_run_2 = redis.call('HGET', KEYS[2], id_7)
   local expires_7, its_options_3
   if raw_run_2 then
    expires_7, its_options_3 = (struct.unpack('>I6', raw_run_2, 10)), (struct.unpack('>Hc0', raw_run_2, 28))
   else
    do
     local result, result_2, result_3, result_4
     do
      local raw_9 = redis.call('HGET', KEYS[1], id_7)
      local bits_3, tries_3, expires_8, at_2 = struct.unpack('>BHI6', raw_9)
      local due_ms_4, options_6 = nil, ''
      if bits_3 >= 2 then
       due_ms_4, at_2 = struct.unpack('>I6', raw_9, at_2)
       bits_3 = bits_3 - 2
      end
      if bits_3 == 1 then
       options_6, at_2 = struct.unpack('>Hc0', raw_9, at_2)
      end
      result, result_2, result_3, result_4 = tries_3, expires_8, due_ms_4, options_6, at_2
     end
     __23, expires_7, __23, its_options_3 = result, result_2, result_3, result_4
    end
   end
   local has_expired_2
   do
    local expires_9 = expires_7
    has_expired_2 = expires_9 > 0 and expires_9 <= now
   end
   if has_expired_2 then
    drop_expired({
     id_7,
    })
   else
    local name_2, __24, most_4, delay_max, grace
    repeat
     local options_7 = its_options_3
     if options_7 == '' or string.byte(options_7, 7) % 64 < 32 then
      name_2, __24, most_4, delay_max, grace = nil
      break
     end
     local size_3, count_7, most_5, delay_max_2, grace_2 = struct.unpack('>BHHI6I6', options_7, #options_7 - 17 + 1)
     name_2, __24, most_4, delay_max, grace = string.sub(options_7, -17 - size_3, -17 - 1), count_7, most_5, delay_max_2, grace_2
    until true
    local group_7
    repeat
     local name_3, most_6, delay_max_3, grace_3 = name_2, most_4, delay_max, grace
     local raw_10 = redis.call('HGET', KEYS[13], name_3)
     if not raw_10 then
      group_7 = {
       name = name_3,
       count = 0,
       bytes = 0,
       first = now,
       last = now,
       ends = 0,
       most = most_6,
       delay_max = delay_max_3,
       grace = grace_3,
      }
      break
     end
     local count_8, bytes_3, first_4, last_5, ends_3, its_most_2, its_delay_2, its_grace_2 = struct.unpack('>I4I4I6I6I6HI6I6', raw_10)
     group_7 = {
      name = name_3,
      count = count_8,
      bytes = bytes_3,
      first = first_4,
      last = last_5,
      ends = ends_3,
      most = most_6 or its_most_2,
      delay_max = delay_max_3 or its_delay_2,
      grace = grace_3 or its_grace_2,
     }
    until true
    redis.call('ZADD', KEYS[9], now, id_7)
    do
     local group_8, ids_11, bytes_4, expires_10 = group_7, {
      id_7,
     }, redis.call('HSTRLEN', KEYS[1], id_7), expires_7
     local entries_6 = {
     }
     for i_13, id_8 in ipairs(ids_11) do
      entries_6[2 * i_13 - 1], entries_6[2 * i_13] = 0, group_8.name .. '\0' .. id_8
     end
     redis.call('ZADD', KEYS[11], unpack(entries_6))
     if group_8.count == 0 then
      group_8.first = now
     end
     group_8.last = now
     group_8.count = group_8.count + #ids_11
     group_8.bytes = group_8.bytes + bytes_4
     if expires_10 > 0 then
      group_8.ends = group_8.ends > 0 and math.min(group_8.ends, expires_10) or expires_10
     end
    end
    local is_full
    do
     local group_9 = group_7
     is_full = group_9.count >= group_9.most or group_9.bytes >= 393216
    end
    if is_full then
     do
      local group_10 = group_7
      local is_flushed_2 = false
      while group_10.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
       local is_due_3 = (math.min(group_10.first + group_10.delay_max, group_10.last + group_10.grace) <= now)
       if not (is_due_3 or (group_10.count >= group_10.most or group_10.bytes >= 393216)) or not flush_batch(group_10, is_due_3) then
        break
       end
       is_flushed_2 = true
       if group_10.count > 0 and not (group_10.count >= group_10.most or group_10.bytes >= 393216) then
        count_group(group_10)
       end
      end
     end
    end
    repeat
     local group_11 = group_7
     if group_11.count == 0 then
      redis.call('ZREM', KEYS[12], group_11.name)
      redis.call('HDEL', KEYS[13], group_11.name)
      break
     end
     local time_3 = (group_11.count >= group_11.most or group_11.bytes >= 393216) and now or math.min(group_11.first + group_11.delay_max, group_11.last + group_11.grace)
     if group_11.ends > 0 then
      time_3 = math.min(time_3, math.max(group_11.ends, now + 1000))
     end
     redis.call('HSET', KEYS[13], group_11.name, struct.pack('>I4I4I6I6I6HI6I6', group_11.count, group_11.bytes, group_11.first, group_11.last, group_11.ends, group_11.most, group_11.delay_max, group_11.grace))
     redis.call('ZADD', KEYS[12], time_3, group_11.name)
     do
      local ms_6 = time_3
      redis.call('ZADD', KEYS[18], 'LT', ms_6, ARGV[2])
     end
    until true
    changed_2 = changed_2 + 1
   end
  end
 end
end
do
 for __25, name_4 in ipairs(redis.call('ZRANGEBYSCORE', KEYS[12], '-inf', now, 'LIMIT', 0, ARGV[7])) do
  if not (members_left > 0 and bytes_left > 0 and batches_left > 0) then
   break
  end
  local read_group
  repeat
   local raw_11 = redis.call('HGET', KEYS[13], name_4)
   if not raw_11 then
    read_group = {
     name = name_4,
     count = 0,
     bytes = 0,
     first = now,
     last = now,
     ends = 0,
     most = nil,
     delay_max = nil,
     grace = nil,
    }
    break
   end
   local count_9, bytes_5, first_5, last_6, ends_4, its_most_3, its_delay_3, its_grace_3 = struct.unpack('>I4I4I6I6I6HI6I6', raw_11)
   read_group = {
    name = name_4,
    count = count_9,
    bytes = bytes_5,
    first = first_5,
    last = last_6,
    ends = ends_4,
    most = (its_most_3),
    delay_max = (its_delay_3),
    grace = (its_grace_3),
   }
  until true
  local group_12, before = read_group, members_left
  if (group_12.count >= group_12.most or group_12.bytes >= 393216) or math.min(group_12.first + group_12.delay_max, group_12.last + group_12.grace) <= now then
   do
    local is_flushed_3 = false
    while group_12.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
     local is_due_4 = (math.min(group_12.first + group_12.delay_max, group_12.last + group_12.grace) <= now)
     if not (is_due_4 or (group_12.count >= group_12.most or group_12.bytes >= 393216)) or not flush_batch(group_12, is_due_4) then
      break
     end
     is_flushed_3 = true
     if group_12.count > 0 and not (group_12.count >= group_12.most or group_12.bytes >= 393216) then
      count_group(group_12)
     end
    end
   end
  else
   count_group(group_12)
  end
  if before == members_left then
   members_left = members_left - group_12.count
  end
  repeat
   if group_12.count == 0 then
    redis.call('ZREM', KEYS[12], group_12.name)
    redis.call('HDEL', KEYS[13], group_12.name)
    break
   end
   local time_4 = (group_12.count >= group_12.most or group_12.bytes >= 393216) and now or math.min(group_12.first + group_12.delay_max, group_12.last + group_12.grace)
   if group_12.ends > 0 then
    time_4 = math.min(time_4, math.max(group_12.ends, now + 1000))
   end
   redis.call('HSET', KEYS[13], group_12.name, struct.pack('>I4I4I6I6I6HI6I6', group_12.count, group_12.bytes, group_12.first, group_12.last, group_12.ends, group_12.most, group_12.delay_max, group_12.grace))
   redis.call('ZADD', KEYS[12], time_4, group_12.name)
   do
    local ms_7 = time_4
    redis.call('ZADD', KEYS[18], 'LT', ms_7, ARGV[2])
   end
  until true
 end
end
local next_at
repeat
 local state = redis.call('HGET', KEYS[13], '')
 if not state then
  next_at = nil
  break
 end
 local look_at, cursor = string.match(state, '^(%d+) (%d+)$')
 look_at = tonumber(look_at)
 if look_at > now then
  next_at = look_at
  break
 end
 local found_4, entries_7 = redis.call('HSCAN', KEYS[14], cursor, 'COUNT', 200), 0
 local is_needed = redis.call('EXISTS', KEYS[26]) == 1
 for i_14 = 1, #found_4[2], 2 do
  local id_9, value_5 = found_4[2][i_14], found_4[2][i_14 + 1]
  if string.sub(value_5, 1, 1) == 'b' and not is_needed and entries_7 < 500 and redis.call('HEXISTS', KEYS[1], id_9) == 0 then
   local gone_2 = {
    id_9,
   }
   for place_5 = 2, #value_5, 26 do
    gone_2[#gone_2 + 1] = string.sub(value_5, place_5, place_5 + 25)
   end
   redis.call('HDEL', KEYS[14], unpack(gone_2))
   entries_7 = entries_7 + #gone_2
  end
 end
 redis.call('HDEL', KEYS[13], '')
 if redis.call('EXISTS', KEYS[14]) == 0 then
  next_at = nil
  break
 end
 local again = now + (found_4[1] == '0' and 600000 or 1000)
 redis.call('HSET', KEYS[13], '', string.format('%.0f %s', again, found_4[1]))
 next_at = again
until true
do
 local ms_8
 do
  local head_2 = redis.call('ZRANGE', KEYS[10], 0, 0, 'WITHSCORES')
  ms_8 = head_2[2] and tonumber(head_2[2])
 end
 if ms_8 then
  next_at = math.min(next_at or ms_8, ms_8)
 end
end
do
 local ms_9
 do
  local head_3 = redis.call('ZRANGE', KEYS[12], 0, 0, 'WITHSCORES')
  ms_9 = head_3[2] and tonumber(head_3[2])
 end
 if ms_9 then
  next_at = math.min(next_at or ms_9, ms_9)
 end
end
redis.call('ZREM', KEYS[18], ARGV[2])
if next_at then
 redis.call('ZADD', KEYS[18], next_at, ARGV[2])
end
if batches_made > 0 then
 do
  local count_10 = batches_made
  local is_waited_for_2
  do
   local mark_2 = redis.call('ZSCORE', KEYS[21], ARGV[2])
   is_waited_for_2 = mark_2 and tonumber(mark_2) > now
  end
  if is_waited_for_2 then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_10)
  end
 end
end
repeat
 if redis.call('EXISTS', KEYS[1]) == 1 then
  break
 end
 redis.call('DEL', KEYS[5], KEYS[6])
 redis.call('HDEL', KEYS[15], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
 redis.call('ZREM', KEYS[16], ARGV[2])
 redis.call('ZREM', KEYS[17], ARGV[2])
 if redis.call('EXISTS', KEYS[4]) == 0 and redis.call('HEXISTS', KEYS[15], 'p:' .. ARGV[2]) == 0 then
  redis.call('ZREM', KEYS[19], ARGV[2])
 end
until true
flush_events()
return {
 'ok',
 batches_made,
 changed_2,
 next_at and next_at <= now and 1 or 0,
}
