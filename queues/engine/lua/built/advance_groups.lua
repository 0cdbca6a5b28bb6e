--{"name": "advance_groups", "purpose": "one visit to the groups of a queue: members whose delay is over join, groups whose time has come are", "keys": ["jobs", "runs", "expiring", "keys", "ready", "front", "prio", "priorities", "grouped", "joining", "gathered", "group_times", "group_sizes", "batches", "flags", "due", "ends", "flushes", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "random", "counter", "limit", "only"], "rest": false, "replies": ["ok"]}
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
 redis.call('HINCRBY', KEYS[25], math.floor(now / 86400000), total)
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
    for _, entry in ipairs(found) do
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
   local known = redis.call('HMGET', KEYS[25], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[25], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[25], 'events_dropped', dropped)
   redis.call('HSET', KEYS[25], 'events_dropped_at', string.format('%d', now))
  end
 end
end
local members_left = 250
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
 for __2, id in ipairs(ids) do
  do
   do
    local line = 'expired' .. '\t' .. id .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
    event_lines[#event_lines + 1] = line
   end
  end
 end
 do
  for i = 1, #ids do
   local raw = raw_runs[i]
   if raw and (string.byte(raw, 9) >= 4) then
    do
     local id_2, options = ids[i], (struct.unpack('>Hc0', raw, 28))
     do
      local message
      do
       local key_of
       repeat
        if options == '' then
         key_of = ''
         break
        end
        local __3, __4, __5, __6, its_key = struct.unpack('>I6BI6I6Hc0', options)
        key_of = its_key
       until true
       message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'expired' .. '\t' .. key_of
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
    for __7, field_2 in ipairs(redis.call('HKEYS', KEYS[22])) do
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
    local raw_2 = redis.call('HGET', KEYS[1], id_3)
    expiry_of = raw_2 and (struct.unpack('>I6', raw_2, 4))
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
local function highest_priority(ids_5)
 if redis.call('EXISTS', KEYS[8]) == 0 then
  return 0
 end
 local highest = -100
 for __8, its_2 in ipairs(redis.call('HMGET', KEYS[8], unpack(ids_5))) do
  highest = math.max(highest, tonumber(its_2 or 0))
 end
 return highest
end
local function options_of_batch(group_3, found_2)
 local attributes = cjson.encode({
  group = group_3.name,
 })
 return struct.pack('>I6', found_2.longest) .. found_2.head .. struct.pack('>Hc0Hc0', #'\0batch', '\0batch', #attributes, attributes) .. group_3.name .. struct.pack('>BHHI6I6', #group_3.name, #found_2.ids, group_3.most, group_3.delay_max, group_3.grace)
end
local function flush_batch(group_4, is_due)
 local due_ms = (group_4.count >= group_4.most or group_4.bytes >= 393216) and now or math.min(group_4.first + group_4.delay_max, group_4.last + group_4.grace)
 local entries_4, ids_6, joined_3
 do
  local most_3 = group_4.most
  local entries_5 = redis.call('ZRANGEBYLEX', KEYS[11], '[' .. group_4.name .. '\0', '(' .. group_4.name .. '\1', 'LIMIT', 0, most_3)
  local ids_7 = {
  }
  for i_5, entry_3 in ipairs(entries_5) do
   ids_7[i_5] = string.sub(entry_3, -26)
  end
  entries_4, ids_6, joined_3 = entries_5, ids_7, #ids_7 > 0 and redis.call('ZMSCORE', KEYS[9], unpack(ids_7)) or {
  }
 end
 local number = number_within(group_4, ids_6, joined_3)
 local alive = {
 }
 for i_6 = 1, number do
  if joined_3[i_6] then
   alive[#alive + 1] = ids_6[i_6]
  end
 end
 local found_3, parts, expired_2, size_2 = ({
  ids = {
  },
  longest = 0,
  tries = 1,
  latest = 0,
  never = false,
  head = nil,
  awaited = {
  },
  marks = 0,
  keys = {
  },
  ids_with_key = {
  },
 }), {
  '',
 }, {
 }, 0
 if #alive > 0 then
  do
   local result, result_2
   do
    local records = redis.call('HMGET', KEYS[1], unpack(alive))
    local raw_runs_2 = redis.call('HMGET', KEYS[2], unpack(alive))
    local expired_3, size_3, its_ids = {
    }, 0, found_3.ids
    local last_options, its_key_2, last_size, size_text = nil, '', 0, ''
    for i_7, id_5 in ipairs(alive) do
     local raw_3, raw_run_2 = records[i_7], raw_runs_2[i_7]
     local its_tries, expires, __9, its_options
     do
      local bits, tries, expires_2, at = struct.unpack('>BHI6', raw_3)
      local due_ms_2, options_2 = nil, ''
      if bits >= 2 then
       due_ms_2, at = struct.unpack('>I6', raw_3, at)
       bits = bits - 2
      end
      if bits == 1 then
       options_2, at = struct.unpack('>Hc0', raw_3, at)
      end
      its_tries, expires, __9, its_options = tries, expires_2, due_ms_2, options_2, at
     end
     local has_expired
     do
      local expires_3 = expires
      has_expired = expires_3 > 0 and expires_3 <= now
     end
     if has_expired then
      expired_3[#expired_3 + 1] = id_5
     else
      its_ids[#its_ids + 1] = id_5
      if its_options ~= last_options then
       local key_of_2
       repeat
        local options_3 = its_options
        if options_3 == '' then
         key_of_2 = ''
         break
        end
        local __10, __11, __12, __13, its_key_3 = struct.unpack('>I6BI6I6Hc0', options_3)
        key_of_2 = its_key_3
       until true
       last_options, its_key_2 = its_options, key_of_2
       found_3.head = found_3.head or string.sub(its_options, 7, 19)
       found_3.longest = math.max(found_3.longest, (struct.unpack('>I6', its_options)))
      end
      if its_key_2 ~= '' then
       found_3.keys[#found_3.keys + 1], found_3.ids_with_key[#found_3.ids_with_key + 1] = its_key_2, id_5
      end
      if its_tries > found_3.tries then
       found_3.tries = its_tries
      end
      if expires == 0 then
       found_3.never = true
      elseif expires > found_3.latest then
       found_3.latest = expires
      end
      if raw_run_2 and (string.byte(raw_run_2, 9) >= 4) then
       found_3.marks, found_3.awaited[id_5] = 4, its_key_2
      end
      if #raw_3 ~= last_size then
       last_size, size_text = #raw_3, struct.pack('>I4', #raw_3)
      end
      local at_2 = #parts
      parts[at_2 + 1], parts[at_2 + 2], parts[at_2 + 3] = id_5, size_text, raw_3
      size_3 = size_3 + #raw_3
     end
    end
    result, result_2 = expired_3, size_3
   end
   expired_2, size_2 = result, result_2
  end
 end
 local members = #found_3.ids
 if members == 0 or not (is_due or members >= group_4.most or number < #ids_6 or size_2 >= 393216) then
  count_group(group_4)
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
  local ids_8, its_priority, its_options_2 = found_3.ids, highest_priority(found_3.ids), options_of_batch(group_4, found_3)
  local expires_4 = found_3.never and 0 or found_3.latest
  redis.call('ZREM', KEYS[9], unpack(ids_8))
  do
   redis.call('HDEL', KEYS[1], unpack(ids_8))
   redis.call('HDEL', KEYS[2], unpack(ids_8))
   redis.call('HDEL', KEYS[8], unpack(ids_8))
  end
  local pack_head
  do
   local tries_2 = found_3.tries
   local bits_2 = 0
   local tail = ''
   if its_options_2 ~= '' then
    bits_2 = bits_2 + 1
    tail = tail .. struct.pack('>Hc0', #its_options_2, its_options_2)
   end
   pack_head = struct.pack('>BHI6', bits_2, tries_2, expires_4) .. tail
  end
  parts[1] = pack_head
  redis.call('HSET', KEYS[1], batch, table.concat(parts))
  redis.call('HSET', KEYS[2], batch, struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, found_3.tries, found_3.marks, expires_4, now, 0, #its_options_2, its_options_2, 0, ''))
  if its_priority ~= 0 then
   redis.call('HSET', KEYS[8], batch, its_priority)
  end
  do
   if (its_priority and string.find(its_priority, '%z')) then
    do
     local place_2 = its_priority
     local zero
     do
      local place_3 = place_2
      zero = place_3 and string.find(place_3, '%z')
     end
     local band, number_2 = string.sub(place_2, 1, zero + 1), nil
     number_2 = number_2 or 140737488355328 + redis.call('HINCRBY', KEYS[15], 'l:' .. ARGV[2], 1)
     place_2 = band .. struct.pack('>I6', number_2)
     redis.call('HSET', KEYS[8], batch, place_2)
     redis.call('ZADD', KEYS[27], 0, place_2 .. batch)
     repeat
      local its_key_4 = string.sub(place_2, 1, zero - 1)
      local turn_of
      do
       local score = tonumber(redis.call('ZSCORE', KEYS[28], its_key_4) or nil)
       turn_of = score and score >= -4503599627370496 and score or nil
      end
      if turn_of then
       break
      end
      local virtual, __14, start
      do
       local raw_4 = redis.call('HMGET', KEYS[29], '', its_key_4)
       local virtual_2
       repeat
        local raw_5 = raw_4[1]
        if not raw_5 then
         virtual_2 = 0, 0, 0
         break
        end
        virtual_2 = struct.unpack('>ddd', raw_5)
       until true
       local in_work, start_2, tat
       repeat
        local raw_6 = raw_4[2]
        if not raw_6 then
         in_work, start_2, tat = 0, 0, 0
         break
        end
        in_work, start_2, tat = struct.unpack('>I4dd', raw_6)
       until true
       virtual, __14, start = virtual_2, in_work, start_2, tat
      end
      local format_turn
      do
       local score_2 = math.max(virtual, start)
       format_turn = string.format('%.0f', score_2)
      end
      redis.call('ZADD', KEYS[28], format_turn, its_key_4)
     until true
    end
   else
    do
     local priority = tonumber(its_priority or 0)
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
    local due_ms_3, ids_9 = now, {
     batch,
    }
    local horizon = redis.call('HGET', KEYS[15], 'h:' .. ARGV[2])
    if horizon and expires_4 >= tonumber(horizon) and due_ms_3 <= expires_4 then
     break
    end
    if horizon or due_ms_3 > expires_4 then
     local members_2 = {
     }
     for i_8 = 1, #ids_9 do
      members_2[#members_2 + 1] = expires_4
      members_2[#members_2 + 1] = ids_9[i_8]
     end
     redis.call('ZADD', KEYS[3], unpack(members_2))
    else
     redis.call('HSET', KEYS[15], 'h:' .. ARGV[2], expires_4)
    end
    do
     redis.call('ZADD', KEYS[20], 'LT', math.min(expires_4, now + 600000), ARGV[2])
    end
   until true
  end
  local fields_2, membership = {
   batch,
   'b' .. table.concat(ids_8),
  }, 'm' .. batch
  for i_9, id_6 in ipairs(ids_8) do
   local its_key_5 = found_3.awaited[id_6]
   fields_2[2 * i_9 + 1], fields_2[2 * i_9 + 2] = id_6, its_key_5 and membership .. its_key_5 or membership
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
      for __15, field_4 in ipairs(redis.call('HKEYS', KEYS[22])) do
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
   for i_10 = 1, #durations do
    local ms_3 = durations[i_10]
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
       for __16, field_6 in ipairs(redis.call('HKEYS', KEYS[22])) do
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
 if #found_3.keys > 0 then
  do
   local its_keys, ids_10 = found_3.keys, found_3.ids_with_key
   local changed, freed_2 = {
   }, {
   }
   for i_11, held_2 in ipairs(redis.call('HMGET', KEYS[4], unpack(its_keys))) do
    local its_mode = held_2 and string.sub(held_2, 7, 32) == ids_10[i_11] and string.sub(held_2, 33, 33)
    if its_mode == 'r' then
     freed_2[#freed_2 + 1] = its_keys[i_11]
    elseif its_mode and its_mode ~= '' then
     changed[#changed + 1] = its_keys[i_11]
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
 members_left, bytes_left, batches_left = members_left - members, bytes_left - size_2, batches_left - 1
 group_4.count, group_4.bytes = math.max(0, group_4.count - number), math.max(0, group_4.bytes - size_2)
 return true
end
local changed_2 = 0
ARGV[7] = tonumber(ARGV[7])
if ARGV[8] ~= '' then
 local group_5
 repeat
  local name = ARGV[8]
  local raw_7 = redis.call('HGET', KEYS[13], name)
  if not raw_7 then
   group_5 = {
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
  local count_5, bytes_2, first_3, last_4, ends_2, its_most, its_delay, its_grace = struct.unpack('>I4I4I6I6I6HI6I6', raw_7)
  group_5 = {
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
 if group_5.count > 0 then
  do
   local group_6 = group_5
   local is_flushed = false
   while group_6.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
    local is_due_2 = true
    if not (is_due_2 or (group_6.count >= group_6.most or group_6.bytes >= 393216)) or not flush_batch(group_6, is_due_2) then
     break
    end
    is_flushed = true
    if group_6.count > 0 and not (group_6.count >= group_6.most or group_6.bytes >= 393216) then
     count_group(group_6)
    end
   end
  end
  repeat
   local group_7 = group_5
   if group_7.count == 0 then
    redis.call('ZREM', KEYS[12], group_7.name)
    redis.call('HDEL', KEYS[13], group_7.name)
    break
   end
   local time_2 = (group_7.count >= group_7.most or group_7.bytes >= 393216) and now or math.min(group_7.first + group_7.delay_max, group_7.last + group_7.grace)
   if group_7.ends > 0 then
    time_2 = math.min(time_2, math.max(group_7.ends, now + 1000))
   end
   redis.call('HSET', KEYS[13], group_7.name, struct.pack('>I4I4I6I6I6HI6I6', group_7.count, group_7.bytes, group_7.first, group_7.last, group_7.ends, group_7.most, group_7.delay_max, group_7.grace))
   redis.call('ZADD', KEYS[12], time_2, group_7.name)
   do
    local ms_5 = time_2
    redis.call('ZADD', KEYS[18], 'LT', ms_5, ARGV[2])
   end
  until true
 end
 local is_left = group_5.count > 0
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
  250 - members_left,
  is_left and 1 or 0,
 }
end
do
 local found_4 = redis.call('ZRANGEBYSCORE', KEYS[10], '-inf', now, 'LIMIT', 0, ARGV[7])
 for __17, id_7 in ipairs(found_4) do
  if not (members_left > 0 and bytes_left > 0 and batches_left > 0) then
   break
  end
  redis.call('ZREM', KEYS[10], id_7)
  if redis.call('ZSCORE', KEYS[9], id_7) then
   local raw_run_3 = redis.call('HGET', KEYS[2], id_7)
   local expires_5, its_options_3
   if raw_run_3 then
    expires_5, its_options_3 = (struct.unpack('>I6', raw_run_3, 10)), (struct.unpack('>Hc0', raw_run_3, 28))
   else
    do
     local result_3, result_4, result_5, result_6
     do
      local raw_8 = redis.call('HGET', KEYS[1], id_7)
      local bits_3, tries_3, expires_6, at_3 = struct.unpack('>BHI6', raw_8)
      local due_ms_4, options_4 = nil, ''
      if bits_3 >= 2 then
       due_ms_4, at_3 = struct.unpack('>I6', raw_8, at_3)
       bits_3 = bits_3 - 2
      end
      if bits_3 == 1 then
       options_4, at_3 = struct.unpack('>Hc0', raw_8, at_3)
      end
      result_3, result_4, result_5, result_6 = tries_3, expires_6, due_ms_4, options_4, at_3
     end
     __17, expires_5, __17, its_options_3 = result_3, result_4, result_5, result_6
    end
   end
   local has_expired_2
   do
    local expires_7 = expires_5
    has_expired_2 = expires_7 > 0 and expires_7 <= now
   end
   if has_expired_2 then
    drop_expired({
     id_7,
    })
   else
    local name_2, __18, most_4, delay_max, grace
    repeat
     local options_5 = its_options_3
     if options_5 == '' or string.byte(options_5, 7) % 64 < 32 then
      name_2, __18, most_4, delay_max, grace = nil
      break
     end
     local size_4, count_7, most_5, delay_max_2, grace_2 = struct.unpack('>BHHI6I6', options_5, #options_5 - 17 + 1)
     name_2, __18, most_4, delay_max, grace = string.sub(options_5, -17 - size_4, -17 - 1), count_7, most_5, delay_max_2, grace_2
    until true
    local group_8
    repeat
     local name_3, most_6, delay_max_3, grace_3 = name_2, most_4, delay_max, grace
     local raw_9 = redis.call('HGET', KEYS[13], name_3)
     if not raw_9 then
      group_8 = {
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
     local count_8, bytes_3, first_4, last_5, ends_3, its_most_2, its_delay_2, its_grace_2 = struct.unpack('>I4I4I6I6I6HI6I6', raw_9)
     group_8 = {
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
     local group_9, ids_11, bytes_4, expires_8 = group_8, {
      id_7,
     }, redis.call('HSTRLEN', KEYS[1], id_7), expires_5
     local entries_6 = {
     }
     for i_12, id_8 in ipairs(ids_11) do
      entries_6[2 * i_12 - 1], entries_6[2 * i_12] = 0, group_9.name .. '\0' .. id_8
     end
     redis.call('ZADD', KEYS[11], unpack(entries_6))
     if group_9.count == 0 then
      group_9.first = now
     end
     group_9.last = now
     group_9.count = group_9.count + #ids_11
     group_9.bytes = group_9.bytes + bytes_4
     if expires_8 > 0 then
      group_9.ends = group_9.ends > 0 and math.min(group_9.ends, expires_8) or expires_8
     end
    end
    local is_full
    do
     local group_10 = group_8
     is_full = group_10.count >= group_10.most or group_10.bytes >= 393216
    end
    if is_full then
     do
      local group_11 = group_8
      local is_flushed_2 = false
      while group_11.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
       local is_due_3 = (math.min(group_11.first + group_11.delay_max, group_11.last + group_11.grace) <= now)
       if not (is_due_3 or (group_11.count >= group_11.most or group_11.bytes >= 393216)) or not flush_batch(group_11, is_due_3) then
        break
       end
       is_flushed_2 = true
       if group_11.count > 0 and not (group_11.count >= group_11.most or group_11.bytes >= 393216) then
        count_group(group_11)
       end
      end
     end
    end
    repeat
     local group_12 = group_8
     if group_12.count == 0 then
      redis.call('ZREM', KEYS[12], group_12.name)
      redis.call('HDEL', KEYS[13], group_12.name)
      break
     end
     local time_3 = (group_12.count >= group_12.most or group_12.bytes >= 393216) and now or math.min(group_12.first + group_12.delay_max, group_12.last + group_12.grace)
     if group_12.ends > 0 then
      time_3 = math.min(time_3, math.max(group_12.ends, now + 1000))
     end
     redis.call('HSET', KEYS[13], group_12.name, struct.pack('>I4I4I6I6I6HI6I6', group_12.count, group_12.bytes, group_12.first, group_12.last, group_12.ends, group_12.most, group_12.delay_max, group_12.grace))
     redis.call('ZADD', KEYS[12], time_3, group_12.name)
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
 for __19, name_4 in ipairs(redis.call('ZRANGEBYSCORE', KEYS[12], '-inf', now, 'LIMIT', 0, ARGV[7])) do
  if not (members_left > 0 and bytes_left > 0 and batches_left > 0) then
   break
  end
  local read_group
  repeat
   local raw_10 = redis.call('HGET', KEYS[13], name_4)
   if not raw_10 then
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
   local count_9, bytes_5, first_5, last_6, ends_4, its_most_3, its_delay_3, its_grace_3 = struct.unpack('>I4I4I6I6I6HI6I6', raw_10)
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
  local group_13, before = read_group, members_left
  if (group_13.count >= group_13.most or group_13.bytes >= 393216) or math.min(group_13.first + group_13.delay_max, group_13.last + group_13.grace) <= now then
   do
    local is_flushed_3 = false
    while group_13.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
     local is_due_4 = (math.min(group_13.first + group_13.delay_max, group_13.last + group_13.grace) <= now)
     if not (is_due_4 or (group_13.count >= group_13.most or group_13.bytes >= 393216)) or not flush_batch(group_13, is_due_4) then
      break
     end
     is_flushed_3 = true
     if group_13.count > 0 and not (group_13.count >= group_13.most or group_13.bytes >= 393216) then
      count_group(group_13)
     end
    end
   end
  else
   count_group(group_13)
  end
  if before == members_left then
   members_left = members_left - group_13.count
  end
  repeat
   if group_13.count == 0 then
    redis.call('ZREM', KEYS[12], group_13.name)
    redis.call('HDEL', KEYS[13], group_13.name)
    break
   end
   local time_4 = (group_13.count >= group_13.most or group_13.bytes >= 393216) and now or math.min(group_13.first + group_13.delay_max, group_13.last + group_13.grace)
   if group_13.ends > 0 then
    time_4 = math.min(time_4, math.max(group_13.ends, now + 1000))
   end
   redis.call('HSET', KEYS[13], group_13.name, struct.pack('>I4I4I6I6I6HI6I6', group_13.count, group_13.bytes, group_13.first, group_13.last, group_13.ends, group_13.most, group_13.delay_max, group_13.grace))
   redis.call('ZADD', KEYS[12], time_4, group_13.name)
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
 local found_5, entries_7 = redis.call('HSCAN', KEYS[14], cursor, 'COUNT', 200), 0
 local is_needed = redis.call('EXISTS', KEYS[26]) == 1
 for i_13 = 1, #found_5[2], 2 do
  local id_9, value_5 = found_5[2][i_13], found_5[2][i_13 + 1]
  if string.sub(value_5, 1, 1) == 'b' and not is_needed and entries_7 < 500 and redis.call('HEXISTS', KEYS[1], id_9) == 0 then
   local gone_2 = {
    id_9,
   }
   for place_4 = 2, #value_5, 26 do
    gone_2[#gone_2 + 1] = string.sub(value_5, place_4, place_4 + 25)
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
 local again = now + (found_5[1] == '0' and 600000 or 1000)
 redis.call('HSET', KEYS[13], '', string.format('%.0f %s', again, found_5[1]))
 next_at = again
until true
do
 local ms_8
 do
  local head = redis.call('ZRANGE', KEYS[10], 0, 0, 'WITHSCORES')
  ms_8 = head[2] and tonumber(head[2])
 end
 if ms_8 then
  next_at = math.min(next_at or ms_8, ms_8)
 end
end
do
 local ms_9
 do
  local head_2 = redis.call('ZRANGE', KEYS[12], 0, 0, 'WITHSCORES')
  ms_9 = head_2[2] and tonumber(head_2[2])
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
