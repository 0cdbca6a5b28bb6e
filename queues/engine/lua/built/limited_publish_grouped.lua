--{"name": "limited_publish_grouped", "purpose": "adds members of a group (edge D), and flushes the group if it is full (edge P). All or nothing.", "keys": ["limit", "jobs", "runs", "results", "expiring", "keys", "ready", "front", "prio", "priorities", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped", "joining", "gathered", "group_times", "group_sizes", "batches", "flags", "flushes", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "dependants", "outgoing", "lines", "turns", "shares"], "args": ["allowance", "interval", "requests", "now_ms", "queue", "channel", "cap", "random", "counter", "delay", "at", "ttl", "tries", "priority", "options", "key", "key_ttl", "mode", "max_wait", "once_ttl"], "rest": true, "replies": ["limited", "counted", "ok", "duplicate", "ttl_short"]}
local counts = {
 ok = 1,
 duplicate = 1,
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
local reply
repeat
 local now = tonumber(ARGV[4])
 local now_up = now
 if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  now_up = now + 1
 end
 local function has_begun(id)
  local raw = redis.call('HGET', KEYS[3], id)
  return raw and (struct.unpack('>I4', raw)) > 0
 end
 local DIGITS = {
  string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
 }
 local event_lines = {
 }
 local function count_stat(metric, count)
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. metric
  if redis.call('HINCRBY', KEYS[28], field, count) == count then
   repeat
    if redis.call('HGET', KEYS[28], 'm') == tostring(minute) then
     break
    end
    for _, field_2 in ipairs(redis.call('HKEYS', KEYS[28])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[28], field_2)
     end
    end
    redis.call('HSET', KEYS[28], 'm', minute)
    redis.call('EXPIRE', KEYS[28], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[29], '-inf', minute - 10)
    redis.call('ZADD', KEYS[29], minute, ARGV[5])
    redis.call('EXPIRE', KEYS[29], 10 * 60)
   until true
  end
 end
 local members_left = 250
 local bytes_left = 393216
 local batches_left = 16
 local batches_made = 0
 local function drop_expired(ids)
  redis.call('ZREM', KEYS[17], unpack(ids))
  local raw_runs = redis.call('HMGET', KEYS[3], unpack(ids))
  do
   redis.call('HDEL', KEYS[2], unpack(ids))
   redis.call('HDEL', KEYS[3], unpack(ids))
   redis.call('HDEL', KEYS[10], unpack(ids))
  end
  for __2, id_2 in ipairs(ids) do
   do
    do
     local line = 'expired' .. '\t' .. id_2 .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
     event_lines[#event_lines + 1] = line
    end
   end
  end
  do
   for i_2 = 1, #ids do
    local raw_2 = raw_runs[i_2]
    if raw_2 and (string.byte(raw_2, 9) >= 4) then
     do
      local id_3, options = ids[i_2], (struct.unpack('>Hc0', raw_2, 28))
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
        message = 'ended\t' .. ARGV[5] .. '\t' .. id_3 .. '\t' .. 'expired' .. '\t' .. key_of
       end
       redis.call('ZADD', KEYS[33], now, message)
      end
     end
    end
   end
  end
  count_stat('x', #ids)
 end
 local function count_group(group)
  local entries, ids_2, joined
  do
   local entries_2 = redis.call('ZRANGEBYLEX', KEYS[19], '[' .. group.name .. '\0', '(' .. group.name .. '\1', 'LIMIT', 0, 500)
   local ids_3 = {
   }
   for i_3, entry in ipairs(entries_2) do
    ids_3[i_3] = string.sub(entry, -26)
   end
   entries, ids_2, joined = entries_2, ids_3, #ids_3 > 0 and redis.call('ZMSCORE', KEYS[17], unpack(ids_3)) or {
   }
  end
  local gone, expired = {
  }, {
  }
  local count_2, bytes, first, last, ends = 0, 0, nil, 0, 0
  for i_4, id_4 in ipairs(ids_2) do
   local raw_run = joined[i_4] and redis.call('HGET', KEYS[3], id_4)
   local value = joined[i_4]
   if value then
    local expiry_of
    repeat
     if raw_run then
      expiry_of = (struct.unpack('>I6', raw_run, 10))
      break
     end
     local raw_3 = redis.call('HGET', KEYS[2], id_4)
     expiry_of = raw_3 and (struct.unpack('>I6', raw_3, 4))
    until true
    value = expiry_of
   end
   local its_expiry = value
   if not its_expiry then
    gone[#gone + 1] = entries[i_4]
   elseif (its_expiry > 0 and its_expiry <= now) then
    gone[#gone + 1] = entries[i_4]
    expired[#expired + 1] = id_4
   else
    count_2 = count_2 + 1
    bytes = bytes + redis.call('HSTRLEN', KEYS[2], id_4)
    local its_time = tonumber(joined[i_4])
    first, last = math.min(first or its_time, its_time), math.max(last, its_time)
    if its_expiry > 0 then
     ends = ends > 0 and math.min(ends, its_expiry) or its_expiry
    end
   end
  end
  if #gone > 0 then
   redis.call('ZREM', KEYS[19], unpack(gone))
  end
  if #expired > 0 then
   drop_expired(expired)
  end
  if #entries < 500 then
   group.count, group.bytes = count_2, bytes
   if count_2 > 0 then
    group.first, group.last = first, last
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
  for i_5, id_5 in ipairs(ids_4) do
   size = size + (joined_2[i_5] and redis.call('HSTRLEN', KEYS[2], id_5) or 0)
   if size > 393216 and i_5 > 1 then
    return i_5 - 1
   end
  end
  return #ids_4
 end
 local function highest_priority(ids_5)
  if redis.call('EXISTS', KEYS[10]) == 0 then
   return 0
  end
  local highest = -100
  for __7, its_2 in ipairs(redis.call('HMGET', KEYS[10], unpack(ids_5))) do
   highest = math.max(highest, tonumber(its_2 or 0))
  end
  return highest
 end
 local function options_of_batch(group_3, found)
  local attributes = cjson.encode({
   group = group_3.name,
  })
  return struct.pack('>I6', found.longest) .. found.head .. struct.pack('>Hc0Hc0', #'\0batch', '\0batch', #attributes, attributes) .. group_3.name .. struct.pack('>BHHI6I6', #group_3.name, #found.ids, group_3.most, group_3.delay_max, group_3.grace)
 end
 local function flush_batch(group_4, is_due)
  local due_ms = (group_4.count >= group_4.most or group_4.bytes >= 393216) and now or math.min(group_4.first + group_4.delay_max, group_4.last + group_4.grace)
  local entries_3, ids_6, joined_3
  do
   local most = group_4.most
   local entries_4 = redis.call('ZRANGEBYLEX', KEYS[19], '[' .. group_4.name .. '\0', '(' .. group_4.name .. '\1', 'LIMIT', 0, most)
   local ids_7 = {
   }
   for i_6, entry_2 in ipairs(entries_4) do
    ids_7[i_6] = string.sub(entry_2, -26)
   end
   entries_3, ids_6, joined_3 = entries_4, ids_7, #ids_7 > 0 and redis.call('ZMSCORE', KEYS[17], unpack(ids_7)) or {
   }
  end
  local number = number_within(group_4, ids_6, joined_3)
  local alive = {
  }
  for i_7 = 1, number do
   if joined_3[i_7] then
    alive[#alive + 1] = ids_6[i_7]
   end
  end
  local found_2, parts, expired_2, size_2 = ({
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
     local records = redis.call('HMGET', KEYS[2], unpack(alive))
     local raw_runs_2 = redis.call('HMGET', KEYS[3], unpack(alive))
     local expired_3, size_3, its_ids = {
     }, 0, found_2.ids
     local last_options, its_key_2, last_size, size_text = nil, '', 0, ''
     for i_8, id_6 in ipairs(alive) do
      local raw_4, raw_run_2 = records[i_8], raw_runs_2[i_8]
      local its_tries, expires, __8, its_options
      do
       local bits, tries, expires_2, at = struct.unpack('>BHI6', raw_4)
       local due_ms_2, options_2 = nil, ''
       if bits >= 2 then
        due_ms_2, at = struct.unpack('>I6', raw_4, at)
        bits = bits - 2
       end
       if bits == 1 then
        options_2, at = struct.unpack('>Hc0', raw_4, at)
       end
       its_tries, expires, __8, its_options = tries, expires_2, due_ms_2, options_2, at
      end
      local has_expired
      do
       local expires_3 = expires
       has_expired = expires_3 > 0 and expires_3 <= now
      end
      if has_expired then
       expired_3[#expired_3 + 1] = id_6
      else
       its_ids[#its_ids + 1] = id_6
       if its_options ~= last_options then
        local key_of_2
        repeat
         local options_3 = its_options
         if options_3 == '' then
          key_of_2 = ''
          break
         end
         local __9, __10, __11, __12, its_key_3 = struct.unpack('>I6BI6I6Hc0', options_3)
         key_of_2 = its_key_3
        until true
        last_options, its_key_2 = its_options, key_of_2
        found_2.head = found_2.head or string.sub(its_options, 7, 19)
        found_2.longest = math.max(found_2.longest, (struct.unpack('>I6', its_options)))
       end
       if its_key_2 ~= '' then
        found_2.keys[#found_2.keys + 1], found_2.ids_with_key[#found_2.ids_with_key + 1] = its_key_2, id_6
       end
       if its_tries > found_2.tries then
        found_2.tries = its_tries
       end
       if expires == 0 then
        found_2.never = true
       elseif expires > found_2.latest then
        found_2.latest = expires
       end
       if raw_run_2 and (string.byte(raw_run_2, 9) >= 4) then
        found_2.marks, found_2.awaited[id_6] = 4, its_key_2
       end
       if #raw_4 ~= last_size then
        last_size, size_text = #raw_4, struct.pack('>I4', #raw_4)
       end
       local at_2 = #parts
       parts[at_2 + 1], parts[at_2 + 2], parts[at_2 + 3] = id_6, size_text, raw_4
       size_3 = size_3 + #raw_4
      end
     end
     result, result_2 = expired_3, size_3
    end
    expired_2, size_2 = result, result_2
   end
  end
  local members = #found_2.ids
  if members == 0 or not (is_due or members >= group_4.most or number < #ids_6 or size_2 >= 393216) then
   count_group(group_4)
   return false
  end
  redis.call('ZREM', KEYS[19], unpack(entries_3, 1, number))
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
   local value_4 = ARGV[9] + batches_made
   local c_3 = value_4 % 32
   value_4 = (value_4 - c_3) / 32
   local b_3 = value_4 % 32
   counter_part = string.char(DIGITS[(value_4 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
  end
  local batch = time_part .. ARGV[8] .. counter_part
  batches_made = batches_made + 1
  do
   local ids_8, its_priority, its_options_2 = found_2.ids, highest_priority(found_2.ids), options_of_batch(group_4, found_2)
   local expires_4 = found_2.never and 0 or found_2.latest
   redis.call('ZREM', KEYS[17], unpack(ids_8))
   do
    redis.call('HDEL', KEYS[2], unpack(ids_8))
    redis.call('HDEL', KEYS[3], unpack(ids_8))
    redis.call('HDEL', KEYS[10], unpack(ids_8))
   end
   local pack_head
   do
    local tries_2 = found_2.tries
    local bits_2 = 0
    local tail = ''
    if its_options_2 ~= '' then
     bits_2 = bits_2 + 1
     tail = tail .. struct.pack('>Hc0', #its_options_2, its_options_2)
    end
    pack_head = struct.pack('>BHI6', bits_2, tries_2, expires_4) .. tail
   end
   parts[1] = pack_head
   redis.call('HSET', KEYS[2], batch, table.concat(parts))
   redis.call('HSET', KEYS[3], batch, struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, found_2.tries, found_2.marks, expires_4, now, 0, #its_options_2, its_options_2, 0, ''))
   if its_priority ~= 0 then
    redis.call('HSET', KEYS[10], batch, its_priority)
   end
   do
    if (its_priority and string.find(its_priority, '%z')) then
     do
      local place = its_priority
      local zero
      do
       local place_2 = place
       zero = place_2 and string.find(place_2, '%z')
      end
      local band, number_2 = string.sub(place, 1, zero + 1), nil
      number_2 = number_2 or 140737488355328 + redis.call('HINCRBY', KEYS[23], 'l:' .. ARGV[5], 1)
      place = band .. struct.pack('>I6', number_2)
      redis.call('HSET', KEYS[10], batch, place)
      redis.call('ZADD', KEYS[34], 0, place .. batch)
      repeat
       local its_key_4 = string.sub(place, 1, zero - 1)
       local turn_of
       do
        local score = tonumber(redis.call('ZSCORE', KEYS[35], its_key_4) or nil)
        turn_of = score and score >= -4503599627370496 and score or nil
       end
       if turn_of then
        break
       end
       local virtual, __13, start
       do
        local raw_5 = redis.call('HMGET', KEYS[36], '', its_key_4)
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
        virtual, __13, start = virtual_2, in_work, start_2, tat
       end
       local format_turn
       do
        local score_2 = math.max(virtual, start)
        format_turn = string.format('%.0f', score_2)
       end
       redis.call('ZADD', KEYS[35], format_turn, its_key_4)
      until true
     end
    else
     do
      local priority = tonumber(its_priority or 0)
      if priority == 0 then
       redis.call('RPUSH', KEYS[7], batch)
      else
       local format_rank
       do
        local rank
        repeat
         local band_2 = (100 - priority) * 17592186044416
         local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
         local last_2 = redis.call('ZREVRANGEBYSCORE', KEYS[9], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
         rank = math.max(band_2 + now, last_2[2] and tonumber(last_2[2]) + 1 or 0)
        until true
        format_rank = string.format('%.0f', rank)
       end
       redis.call('ZADD', KEYS[9], format_rank, batch)
      end
     end
    end
   end
   if expires_4 > 0 then
    repeat
     local due_ms_3, ids_9 = now, {
      batch,
     }
     local horizon = redis.call('HGET', KEYS[23], 'h:' .. ARGV[5])
     if horizon and expires_4 >= tonumber(horizon) and due_ms_3 <= expires_4 then
      break
     end
     if horizon or due_ms_3 > expires_4 then
      local members_2 = {
      }
      for i_9 = 1, #ids_9 do
       members_2[#members_2 + 1] = expires_4
       members_2[#members_2 + 1] = ids_9[i_9]
      end
      redis.call('ZADD', KEYS[5], unpack(members_2))
     else
      redis.call('HSET', KEYS[23], 'h:' .. ARGV[5], expires_4)
     end
     do
      redis.call('ZADD', KEYS[26], 'LT', math.min(expires_4, now + 600000), ARGV[5])
     end
    until true
   end
   local fields, membership = {
    batch,
    'b' .. table.concat(ids_8),
   }, 'm' .. batch
   for i_10, id_7 in ipairs(ids_8) do
    local its_key_5 = found_2.awaited[id_7]
    fields[2 * i_10 + 1], fields[2 * i_10 + 2] = id_7, its_key_5 and membership .. its_key_5 or membership
   end
   redis.call('HSET', KEYS[22], unpack(fields))
   if redis.call('HEXISTS', KEYS[21], '') == 0 then
    redis.call('HSET', KEYS[21], '', string.format('%.0f 0', now + 600000))
    do
     local ms = now + 600000
     redis.call('ZADD', KEYS[24], 'LT', ms, ARGV[5])
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
     count_stat('l' .. bucket, 1)
     break
    end
    local of_ms, counts_2 = {
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
     counts_2[b_4] = (counts_2[b_4] or 0) + count_3
    end
    for b_5, count_4 in pairs(counts_2) do
     count_stat('l' .. b_5, count_4)
    end
   until true
  end
  if #found_2.keys > 0 then
   do
    local its_keys, ids_10 = found_2.keys, found_2.ids_with_key
    local changed, freed = {
    }, {
    }
    for i_12, held in ipairs(redis.call('HMGET', KEYS[6], unpack(its_keys))) do
     local its_mode = held and string.sub(held, 7, 32) == ids_10[i_12] and string.sub(held, 33, 33)
     if its_mode == 'r' then
      freed[#freed + 1] = its_keys[i_12]
     elseif its_mode and its_mode ~= '' then
      changed[#changed + 1] = its_keys[i_12]
      changed[#changed + 1] = string.sub(held, 1, 6) .. batch .. string.sub(held, 33)
     end
    end
    if #freed > 0 then
     redis.call('HDEL', KEYS[6], unpack(freed))
    end
    if #changed > 0 then
     redis.call('HSET', KEYS[6], unpack(changed))
    end
   end
  end
  members_left, bytes_left, batches_left = members_left - members, bytes_left - size_2, batches_left - 1
  group_4.count, group_4.bytes = math.max(0, group_4.count - number), math.max(0, group_4.bytes - size_2)
  return true
 end
 local remembered = tonumber(ARGV[20])
 local answer, bodies, fresh = {
  'ok',
 }, {
 }, {
 }
 for i_13 = 21, #ARGV, remembered > 0 and 2 or 1 do
  local id_8 = ''
  if remembered > 0 then
   local held_2 = redis.call('HGET', KEYS[6], ARGV[i_13])
   if held_2 then
    local until_ms, its_id = struct.unpack('>I6c26', held_2)
    if until_ms > now then
     id_8 = its_id
    end
   end
  end
  answer[#answer + 1] = id_8
  if id_8 == '' then
   fresh[#fresh + 1] = #answer
   bodies[#bodies + 1] = ARGV[remembered > 0 and i_13 + 1 or i_13]
  end
 end
 if #bodies == 0 then
  do
   redis.call('PEXPIRE', KEYS[6], 60000)
   redis.call('PERSIST', KEYS[6])
  end
  reply = answer
  break
 end
 local replaced, first_at = nil, now
 local ttl_ms, wait = tonumber(ARGV[12]), tonumber(ARGV[10])
 local due_ms_4 = ARGV[11] ~= '' and math.max(now, tonumber(ARGV[11])) or wait > 0 and now_up + wait or now
 if ARGV[16] ~= '' then
  local holder
  if ARGV[18] == '' then
   do
    local result_3
    repeat
     local held_3 = redis.call('HGET', KEYS[6], ARGV[16])
     if not held_3 then
      result_3 = nil
      break
     end
     local expires_5, id_9 = struct.unpack('>I6c26', held_3)
     result_3 = (expires_5 == 0 or expires_5 > now) and id_9 or nil
    until true
    holder = result_3
   end
  else
   local held_4 = redis.call('HGET', KEYS[6], ARGV[16])
   local value_5 = held_4
   if value_5 then
    local is_held
    repeat
     local expires_6, id_10 = struct.unpack('>I6c26', held_4)
     if expires_6 > 0 and expires_6 <= now then
      is_held = nil
      break
     end
     local its_mode_2 = string.sub(held_4, 33, 33)
     if its_mode_2 == '' then
      is_held = id_10
      break
     end
     if redis.call('ZSCORE', KEYS[13], id_10) then
      is_held = its_mode_2 == 'd' and id_10 or nil
      break
     end
     if redis.call('ZSCORE', KEYS[14], id_10) or redis.call('ZSCORE', KEYS[15], id_10) then
      is_held = nil
      break
     end
     local its_expiry_2
     repeat
      local raw_run_3 = redis.call('HGET', KEYS[3], id_10)
      if raw_run_3 then
       its_expiry_2 = (struct.unpack('>I6', raw_run_3, 10))
       break
      end
      local raw_8 = redis.call('HGET', KEYS[2], id_10)
      its_expiry_2 = raw_8 and (struct.unpack('>I6', raw_8, 4))
     until true
     local value_6 = not its_expiry_2
     if not value_6 then
      local has_expired_2
      do
       local expires_7 = its_expiry_2
       has_expired_2 = expires_7 > 0 and expires_7 <= now
      end
      value_6 = has_expired_2
     end
     if value_6 then
      is_held = nil
      break
     end
     is_held = (its_mode_2 == 'd' or not has_begun(id_10)) and id_10 or nil
    until true
    value_5 = is_held
   end
   holder = value_5
   if holder and ARGV[18] == 'r' and string.sub(held_4, 33, 33) == 'r' and not has_begun(holder) then
    replaced, first_at = holder, struct.unpack('>I6', held_4, 34)
    if tonumber(ARGV[19]) > 0 then
     due_ms_4 = math.max(now, math.min(due_ms_4, first_at + tonumber(ARGV[19])))
    end
    holder = nil
   end
  end
  if holder then
   do
    redis.call('PEXPIRE', KEYS[6], 60000)
    redis.call('PERSIST', KEYS[6])
   end
   reply = {
    'duplicate',
    holder,
   }
   break
  end
 end
 if ttl_ms > 0 and due_ms_4 - now > ttl_ms then
  reply = {
   'ttl_short',
  }
  break
 end
 local name, __14, most_2, delay_max, grace
 repeat
  local options_4 = ARGV[15]
  if options_4 == '' or string.byte(options_4, 7) % 64 < 32 then
   name, __14, most_2, delay_max, grace = nil
   break
  end
  local size_4, count_5, most_3, delay_max_2, grace_2 = struct.unpack('>BHHI6I6', options_4, #options_4 - 17 + 1)
  name, __14, most_2, delay_max, grace = string.sub(options_4, -17 - size_4, -17 - 1), count_5, most_3, delay_max_2, grace_2
 until true
 local is_delayed = due_ms_4 > now
 local expires_8 = ttl_ms > 0 and now + ttl_ms or 0
 local head
 do
  local tries_3, due_ms_5, options_5 = tonumber(ARGV[13]), is_delayed and due_ms_4 or nil, ARGV[15]
  local bits_3 = 0
  local tail_2 = ''
  if due_ms_5 then
   bits_3 = 2
   tail_2 = struct.pack('>I6', due_ms_5)
  end
  if options_5 ~= '' then
   bits_3 = bits_3 + 1
   tail_2 = tail_2 .. struct.pack('>Hc0', #options_5, options_5)
  end
  head = struct.pack('>BHI6', bits_3, tries_3, expires_8) .. tail_2
 end
 local is_awaited
 repeat
  if ARGV[16] == '' then
   is_awaited = false
   break
  end
  is_awaited = #redis.call('ZRANGEBYLEX', KEYS[32], '[:' .. ARGV[16] .. '\t', '(:' .. ARGV[16] .. '\n', 'LIMIT', 0, 1) > 0
 until true
 local time_part_2
 do
  local low_2 = now % 33554432
  local five_digits_3
  do
   local value_7 = (now - low_2) / 33554432
   local e_3 = value_7 % 32
   value_7 = (value_7 - e_3) / 32
   local d_3 = value_7 % 32
   value_7 = (value_7 - d_3) / 32
   local c_4 = value_7 % 32
   value_7 = (value_7 - c_4) / 32
   local b_6 = value_7 % 32
   five_digits_3 = string.char(DIGITS[(value_7 - b_6) / 32 + 1], DIGITS[b_6 + 1], DIGITS[c_4 + 1], DIGITS[d_3 + 1], DIGITS[e_3 + 1])
  end
  local five_digits_4
  do
   local value_8 = low_2
   local e_4 = value_8 % 32
   value_8 = (value_8 - e_4) / 32
   local d_4 = value_8 % 32
   value_8 = (value_8 - d_4) / 32
   local c_5 = value_8 % 32
   value_8 = (value_8 - c_5) / 32
   local b_7 = value_8 % 32
   five_digits_4 = string.char(DIGITS[(value_8 - b_7) / 32 + 1], DIGITS[b_7 + 1], DIGITS[c_5 + 1], DIGITS[d_4 + 1], DIGITS[e_4 + 1])
  end
  time_part_2 = five_digits_3 .. five_digits_4
 end
 local prefix, ids_11, records_2, new_runs, places, size_5 = time_part_2 .. ARGV[8], {
 }, {
 }, {
 }, {
 }, 0
 for i_14, body in ipairs(bodies) do
  local counter_part_2
  do
   local value_9 = ARGV[9] + 16 + i_14 - 1
   local c_6 = value_9 % 32
   value_9 = (value_9 - c_6) / 32
   local b_8 = value_9 % 32
   counter_part_2 = string.char(DIGITS[(value_9 - b_8) / 32 + 1], DIGITS[b_8 + 1], DIGITS[c_6 + 1])
  end
  local id_11 = prefix .. counter_part_2
  ids_11[i_14] = id_11
  answer[fresh[i_14]] = id_11
  records_2[2 * i_14 - 1], records_2[2 * i_14] = id_11, head .. body
  places[2 * i_14 - 1], places[2 * i_14] = due_ms_4, id_11
  size_5 = size_5 + #head + #body
  if #head + #body > 4096 or is_awaited then
   new_runs[#new_runs + 1] = id_11
   new_runs[#new_runs + 1] = struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, ARGV[13], is_awaited and 4 or 0, expires_8, due_ms_4, 0, #ARGV[15], ARGV[15], 0, '')
  end
  do
   local line_3 = 'published\t' .. id_11 .. '\t\t' .. (is_delayed and due_ms_4 - now or '') .. '\t\t' .. #body .. '\t\t'
   event_lines[#event_lines + 1] = line_3
  end
 end
 redis.call('HSET', KEYS[2], unpack(records_2))
 if #new_runs > 0 then
  redis.call('HSET', KEYS[3], unpack(new_runs))
 end
 if tonumber(ARGV[14]) ~= 0 then
  local its_priorities = {
  }
  for i_15, id_12 in ipairs(ids_11) do
   its_priorities[2 * i_15 - 1], its_priorities[2 * i_15] = id_12, ARGV[14]
  end
  redis.call('HSET', KEYS[10], unpack(its_priorities))
 end
 redis.call('ZADD', KEYS[17], unpack(places))
 do
  local added = #ids_11
  if redis.call('HLEN', KEYS[2]) == added then
   redis.call('ZADD', KEYS[25], 0, ARGV[5])
  end
 end
 if ARGV[16] ~= '' then
  if ARGV[18] == '' then
   do
    local id_13 = ids_11[1]
    local for_ms = tonumber(ARGV[17])
    redis.call('HSET', KEYS[6], ARGV[16], struct.pack('>I6c26', for_ms > 0 and now + for_ms or 0, id_13))
    if for_ms > 0 then
     repeat
      local expires_9 = now + for_ms
      local field_3, look_at = 'k:' .. ARGV[5], math.min(expires_9, now + 600000)
      if redis.call('HSETNX', KEYS[23], field_3, string.format('%.0f 0 0', look_at)) == 1 then
       redis.call('ZADD', KEYS[26], 'LT', math.min(look_at, now + 600000), ARGV[5])
       break
      end
      local at_3, cursor, earliest = string.match(redis.call('HGET', KEYS[23], field_3), '^(%d+) (%d+) (%d+)$')
      if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires_9) then
       redis.call('HSET', KEYS[23], field_3, string.format('%s %s %.0f', at_3, cursor, expires_9))
      end
     until true
    end
   end
  else
   do
    local id_14, first_2 = ids_11[1], first_at
    local for_ms_2 = tonumber(ARGV[17])
    local expires_10 = for_ms_2 > 0 and now + for_ms_2 or 0
    redis.call('HSET', KEYS[6], ARGV[16], struct.pack('>I6c26', expires_10, id_14) .. ARGV[18] .. struct.pack('>I6', first_2))
    repeat
     local expires_11 = now + 600000
     local field_4, look_at_2 = 'k:' .. ARGV[5], math.min(expires_11, now + 600000)
     if redis.call('HSETNX', KEYS[23], field_4, string.format('%.0f 0 0', look_at_2)) == 1 then
      redis.call('ZADD', KEYS[26], 'LT', math.min(look_at_2, now + 600000), ARGV[5])
      break
     end
     local at_4, cursor_2, earliest_2 = string.match(redis.call('HGET', KEYS[23], field_4), '^(%d+) (%d+) (%d+)$')
     if cursor_2 ~= '0' and (earliest_2 == '0' or tonumber(earliest_2) > expires_11) then
      redis.call('HSET', KEYS[23], field_4, string.format('%s %s %.0f', at_4, cursor_2, expires_11))
     end
    until true
   end
  end
 end
 if remembered > 0 then
  for i_16, place_3 in ipairs(fresh) do
   redis.call('HSET', KEYS[6], ARGV[21 + 2 * (place_3 - 2)], struct.pack('>I6c26', now + remembered, ids_11[i_16]))
  end
  repeat
   local expires_12 = now + remembered
   local field_5, look_at_3 = 'k:' .. ARGV[5], math.min(expires_12, now + 600000)
   if redis.call('HSETNX', KEYS[23], field_5, string.format('%.0f 0 0', look_at_3)) == 1 then
    redis.call('ZADD', KEYS[26], 'LT', math.min(look_at_3, now + 600000), ARGV[5])
    break
   end
   local at_5, cursor_3, earliest_3 = string.match(redis.call('HGET', KEYS[23], field_5), '^(%d+) (%d+) (%d+)$')
   if cursor_3 ~= '0' and (earliest_3 == '0' or tonumber(earliest_3) > expires_12) then
    redis.call('HSET', KEYS[23], field_5, string.format('%s %s %.0f', at_5, cursor_3, expires_12))
   end
  until true
 end
 local group_5
 repeat
  local name_2, most_4, delay_max_3, grace_3 = name, most_2, delay_max, grace
  local raw_9 = redis.call('HGET', KEYS[21], name_2)
  if not raw_9 then
   group_5 = {
    name = name_2,
    count = 0,
    bytes = 0,
    first = now,
    last = now,
    ends = 0,
    most = most_4,
    delay_max = delay_max_3,
    grace = grace_3,
   }
   break
  end
  local count_6, bytes_2, first_3, last_3, ends_2, its_most, its_delay, its_grace = struct.unpack('>I4I4I6I6I6HI6I6', raw_9)
  group_5 = {
   name = name_2,
   count = count_6,
   bytes = bytes_2,
   first = first_3,
   last = last_3,
   ends = ends_2,
   most = most_4 or its_most,
   delay_max = delay_max_3 or its_delay,
   grace = grace_3 or its_grace,
  }
 until true
 if replaced then
  if redis.call('ZSCORE', KEYS[17], replaced) then
   redis.call('ZREM', KEYS[18], replaced)
   local raw_run_4 = redis.call('HGET', KEYS[3], replaced)
   local its_options_3
   if raw_run_4 then
    its_options_3 = (struct.unpack('>Hc0', raw_run_4, 28))
   else
    do
     local result_4, result_5, result_6, result_7
     do
      local raw_10 = redis.call('HGET', KEYS[2], replaced)
      local bits_4, tries_4, expires_13, at_6 = struct.unpack('>BHI6', raw_10)
      local due_ms_6, options_6 = nil, ''
      if bits_4 >= 2 then
       due_ms_6, at_6 = struct.unpack('>I6', raw_10, at_6)
       bits_4 = bits_4 - 2
      end
      if bits_4 == 1 then
       options_6, at_6 = struct.unpack('>Hc0', raw_10, at_6)
      end
      result_4, result_5, result_6, result_7 = tries_4, expires_13, due_ms_6, options_6, at_6
     end
     __14, __14, __14, its_options_3 = result_4, result_5, result_6, result_7
    end
   end
   local its_name
   repeat
    local options_7 = its_options_3
    if options_7 == '' or string.byte(options_7, 7) % 64 < 32 then
     its_name = nil
     break
    end
    local size_6, count_7, most_5, delay_max_4, grace_4 = struct.unpack('>BHHI6I6', options_7, #options_7 - 17 + 1)
    its_name = string.sub(options_7, -17 - size_6, -17 - 1), count_7, most_5, delay_max_4, grace_4
   until true
   if redis.call('ZREM', KEYS[19], its_name .. '\0' .. replaced) == 1 then
    local value_10 = its_name == name and group_5
    if not value_10 then
     local read_group
     repeat
      local name_3 = its_name
      local raw_11 = redis.call('HGET', KEYS[21], name_3)
      if not raw_11 then
       read_group = {
        name = name_3,
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
      local count_8, bytes_3, first_4, last_4, ends_3, its_most_2, its_delay_2, its_grace_2 = struct.unpack('>I4I4I6I6I6HI6I6', raw_11)
      read_group = {
       name = name_3,
       count = count_8,
       bytes = bytes_3,
       first = first_4,
       last = last_4,
       ends = ends_3,
       most = (its_most_2),
       delay_max = (its_delay_2),
       grace = (its_grace_2),
      }
     until true
     value_10 = read_group
    end
    local its_group = value_10
    its_group.count = math.max(0, its_group.count - 1)
    its_group.bytes = math.max(0, its_group.bytes - redis.call('HSTRLEN', KEYS[2], replaced))
    if its_group ~= group_5 then
     repeat
      if its_group.count == 0 then
       redis.call('ZREM', KEYS[20], its_group.name)
       redis.call('HDEL', KEYS[21], its_group.name)
       break
      end
      local time_2 = (its_group.count >= its_group.most or its_group.bytes >= 393216) and now or math.min(its_group.first + its_group.delay_max, its_group.last + its_group.grace)
      if its_group.ends > 0 then
       time_2 = math.min(time_2, math.max(its_group.ends, now + 1000))
      end
      redis.call('HSET', KEYS[21], its_group.name, struct.pack('>I4I4I6I6I6HI6I6', its_group.count, its_group.bytes, its_group.first, its_group.last, its_group.ends, its_group.most, its_group.delay_max, its_group.grace))
      redis.call('ZADD', KEYS[20], time_2, its_group.name)
      do
       local ms_5 = time_2
       redis.call('ZADD', KEYS[24], 'LT', ms_5, ARGV[5])
      end
     until true
    end
   end
  end
  local remove_job
  repeat
   local id_15 = replaced
   local raw_run_5 = redis.call('HGET', KEYS[3], id_15)
   if redis.call('HDEL', KEYS[2], id_15) == 0 then
    remove_job = nil
    break
   end
   local place_4 = redis.call('HGET', KEYS[10], id_15)
   local zero_2 = (place_4 and string.find(place_4, '%z'))
   redis.call('HDEL', KEYS[3], id_15)
   redis.call('HDEL', KEYS[10], id_15)
   if redis.call('ZREM', KEYS[15], id_15) == 1 then
    redis.call('HDEL', KEYS[4], id_15)
    remove_job = 'was completed'
    break
   end
   if raw_run_5 and (string.byte(raw_run_5, 9) >= 4) then
    do
     local options_8 = (struct.unpack('>Hc0', raw_run_5, 28))
     do
      local message_2
      do
       local key_of_3
       repeat
        if options_8 == '' then
         key_of_3 = ''
         break
        end
        local __15, __16, __17, __18, its_key_6 = struct.unpack('>I6BI6I6Hc0', options_8)
        key_of_3 = its_key_6
       until true
       message_2 = 'ended\t' .. ARGV[5] .. '\t' .. id_15 .. '\t' .. 'deleted' .. '\t' .. key_of_3
      end
      redis.call('ZADD', KEYS[33], now, message_2)
     end
    end
   end
   if redis.call('ZREM', KEYS[14], id_15) == 1 then
    remove_job = 'was dead'
    break
   end
   if redis.call('ZREM', KEYS[13], id_15) == 1 then
    if zero_2 then
     do
      local its_key_7 = string.sub(place_4, 1, zero_2 - 1)
      local virtual_3, in_work_2, start_3, tat_2
      do
       local raw_12 = redis.call('HMGET', KEYS[36], '', its_key_7)
       local virtual_4
       repeat
        local raw_13 = raw_12[1]
        if not raw_13 then
         virtual_4 = 0, 0, 0
         break
        end
        virtual_4 = struct.unpack('>ddd', raw_13)
       until true
       local in_work_3, start_4, tat_3
       repeat
        local raw_14 = raw_12[2]
        if not raw_14 then
         in_work_3, start_4, tat_3 = 0, 0, 0
         break
        end
        in_work_3, start_4, tat_3 = struct.unpack('>I4dd', raw_14)
       until true
       virtual_3, in_work_2, start_3, tat_2 = virtual_4, in_work_3, start_4, tat_3
      end
      local turn
      do
       local score_3 = tonumber(redis.call('ZSCORE', KEYS[35], its_key_7) or nil)
       turn = score_3 and score_3 >= -4503599627370496 and score_3 or nil
      end
      if turn and turn < 0 then
       turn = math.max(virtual_3, start_3)
      end
      repeat
       local virtual_5, in_work_4, start_5, tat_4, turn_2 = virtual_3, math.max(0, in_work_2 - 1), start_3, tat_2, turn
       redis.call('HDEL', KEYS[36], its_key_7)
       if not turn_2 then
        redis.call('ZREM', KEYS[35], its_key_7)
       end
       if not turn_2 and in_work_4 == 0 then
        local until_ms_2
        do
         local until_ms_3 = math.max(start_5 > virtual_5 and now + 10000 or 0, math.ceil(tat_4 / 1000))
         until_ms_2 = until_ms_3 > now and until_ms_3 or nil
        end
        if not until_ms_2 then
         break
        end
        turn_2 = until_ms_2 - 9007199254740992
        do
         local ms_6 = until_ms_2
         redis.call('ZADD', KEYS[26], 'LT', math.min(ms_6, now + 600000), ARGV[5])
        end
       end
       if turn_2 then
        redis.call('ZADD', KEYS[35], string.format('%.0f', turn_2), its_key_7)
       end
       redis.call('HSET', KEYS[36], its_key_7, struct.pack('>I4dd', in_work_4, start_5, tat_4))
      until true
     end
    end
    remove_job = ''
    break
   end
   redis.call('ZREM', KEYS[5], id_15)
   if redis.call('ZREM', KEYS[16], id_15) == 1 then
    do
     do
      local message_3 = ('waits\t' .. ARGV[5] .. '\t' .. id_15)
      redis.call('ZADD', KEYS[33], now, message_3)
     end
    end
    remove_job = ''
    break
   end
   if redis.call('ZREM', KEYS[17], id_15) == 1 then
    remove_job = ''
    break
   end
   if redis.call('ZREM', KEYS[11], id_15) + redis.call('ZREM', KEYS[12], id_15) + redis.call('ZREM', KEYS[9], id_15) == 0 then
    if zero_2 then
     do
      redis.call('ZREM', KEYS[34], place_4 .. id_15)
      repeat
       local its_key_8 = string.sub(place_4, 1, (place_4 and string.find(place_4, '%z')) - 1)
       if #redis.call('ZRANGE', KEYS[34], '[' .. its_key_8 .. '\0', '(' .. its_key_8 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
        break
       end
       local virtual_6, in_work_5, start_6, tat_5
       do
        local raw_15 = redis.call('HMGET', KEYS[36], '', its_key_8)
        local virtual_7
        repeat
         local raw_16 = raw_15[1]
         if not raw_16 then
          virtual_7 = 0, 0, 0
          break
         end
         virtual_7 = struct.unpack('>ddd', raw_16)
        until true
        local in_work_6, start_7, tat_6
        repeat
         local raw_17 = raw_15[2]
         if not raw_17 then
          in_work_6, start_7, tat_6 = 0, 0, 0
          break
         end
         in_work_6, start_7, tat_6 = struct.unpack('>I4dd', raw_17)
        until true
        virtual_6, in_work_5, start_6, tat_5 = virtual_7, in_work_6, start_7, tat_6
       end
       repeat
        local turn_of_2
        do
         local score_4 = tonumber(redis.call('ZSCORE', KEYS[35], its_key_8) or nil)
         turn_of_2 = score_4 and score_4 >= -4503599627370496 and score_4 or nil
        end
        local virtual_8, in_work_7, start_8, tat_7, turn_3 = virtual_6, in_work_5, math.max(start_6, turn_of_2 or 0), tat_5, nil
        redis.call('HDEL', KEYS[36], its_key_8)
        if not turn_3 then
         redis.call('ZREM', KEYS[35], its_key_8)
        end
        if not turn_3 and in_work_7 == 0 then
         local until_ms_4
         do
          local until_ms_5 = math.max(start_8 > virtual_8 and now + 10000 or 0, math.ceil(tat_7 / 1000))
          until_ms_4 = until_ms_5 > now and until_ms_5 or nil
         end
         if not until_ms_4 then
          break
         end
         turn_3 = until_ms_4 - 9007199254740992
         do
          local ms_7 = until_ms_4
          redis.call('ZADD', KEYS[26], 'LT', math.min(ms_7, now + 600000), ARGV[5])
         end
        end
        if turn_3 then
         redis.call('ZADD', KEYS[35], string.format('%.0f', turn_3), its_key_8)
        end
        redis.call('HSET', KEYS[36], its_key_8, struct.pack('>I4dd', in_work_7, start_8, tat_7))
       until true
      until true
     end
    else
     do
      local field_6 = 't:' .. ARGV[5]
      local left_4 = redis.call('HINCRBY', KEYS[23], field_6, 1)
      if left_4 > 0 and 1 > 0 then
       local in_front = redis.call('LLEN', KEYS[8])
       if left_4 >= in_front + redis.call('LLEN', KEYS[7]) then
        redis.call('DEL', KEYS[7], KEYS[8])
        left_4 = 0
       else
        local list = in_front > 0 and KEYS[8] or KEYS[7]
        for __19 = 1, 8 do
         local id_16 = redis.call('LINDEX', list, 0)
         if left_4 == 0 or not id_16 or redis.call('HEXISTS', KEYS[2], id_16) == 1 then
          break
         end
         redis.call('LPOP', list)
         left_4 = redis.call('HINCRBY', KEYS[23], field_6, -1)
        end
        if left_4 > 500 then
         do
          local ms_8 = now
          redis.call('ZADD', KEYS[26], 'LT', math.min(ms_8, now + 600000), ARGV[5])
         end
        end
       end
      end
      if left_4 <= 0 then
       redis.call('HDEL', KEYS[23], field_6)
      end
     end
    end
   end
   remove_job = ''
  until true
  if remove_job then
   do
    local id_17 = replaced
    do
     local line_4 = 'deleted' .. '\t' .. id_17 .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
     event_lines[#event_lines + 1] = line_4
    end
   end
  end
 end
 if is_delayed then
  redis.call('ZADD', KEYS[18], unpack(places))
  do
   local ms_9 = due_ms_4
   redis.call('ZADD', KEYS[24], 'LT', ms_9, ARGV[5])
  end
  if replaced then
   repeat
    local group_6 = group_5
    if group_6.count == 0 then
     redis.call('ZREM', KEYS[20], group_6.name)
     redis.call('HDEL', KEYS[21], group_6.name)
     break
    end
    local time_3 = (group_6.count >= group_6.most or group_6.bytes >= 393216) and now or math.min(group_6.first + group_6.delay_max, group_6.last + group_6.grace)
    if group_6.ends > 0 then
     time_3 = math.min(time_3, math.max(group_6.ends, now + 1000))
    end
    redis.call('HSET', KEYS[21], group_6.name, struct.pack('>I4I4I6I6I6HI6I6', group_6.count, group_6.bytes, group_6.first, group_6.last, group_6.ends, group_6.most, group_6.delay_max, group_6.grace))
    redis.call('ZADD', KEYS[20], time_3, group_6.name)
    do
     local ms_10 = time_3
     redis.call('ZADD', KEYS[24], 'LT', ms_10, ARGV[5])
    end
   until true
  end
 else
  do
   local group_7, bytes_4 = group_5, size_5
   local entries_5 = {
   }
   for i_17, id_18 in ipairs(ids_11) do
    entries_5[2 * i_17 - 1], entries_5[2 * i_17] = 0, group_7.name .. '\0' .. id_18
   end
   redis.call('ZADD', KEYS[19], unpack(entries_5))
   if group_7.count == 0 then
    group_7.first = now
   end
   group_7.last = now
   group_7.count = group_7.count + #ids_11
   group_7.bytes = group_7.bytes + bytes_4
   if expires_8 > 0 then
    group_7.ends = group_7.ends > 0 and math.min(group_7.ends, expires_8) or expires_8
   end
  end
  if #ids_11 <= 200 then
   do
    local group_8 = group_5
    local is_flushed = false
    while group_8.count > 0 and (members_left > 0 and bytes_left > 0 and batches_left > 0) do
     local is_due_2 = (math.min(group_8.first + group_8.delay_max, group_8.last + group_8.grace) <= now)
     if not (is_due_2 or (group_8.count >= group_8.most or group_8.bytes >= 393216)) or not flush_batch(group_8, is_due_2) then
      break
     end
     is_flushed = true
     if group_8.count > 0 and not (group_8.count >= group_8.most or group_8.bytes >= 393216) then
      count_group(group_8)
     end
    end
   end
  end
  repeat
   local group_9 = group_5
   if group_9.count == 0 then
    redis.call('ZREM', KEYS[20], group_9.name)
    redis.call('HDEL', KEYS[21], group_9.name)
    break
   end
   local time_4 = (group_9.count >= group_9.most or group_9.bytes >= 393216) and now or math.min(group_9.first + group_9.delay_max, group_9.last + group_9.grace)
   if group_9.ends > 0 then
    time_4 = math.min(time_4, math.max(group_9.ends, now + 1000))
   end
   redis.call('HSET', KEYS[21], group_9.name, struct.pack('>I4I4I6I6I6HI6I6', group_9.count, group_9.bytes, group_9.first, group_9.last, group_9.ends, group_9.most, group_9.delay_max, group_9.grace))
   redis.call('ZADD', KEYS[20], time_4, group_9.name)
   do
    local ms_11 = time_4
    redis.call('ZADD', KEYS[24], 'LT', ms_11, ARGV[5])
   end
  until true
 end
 if batches_made > 0 then
  do
   local count_9 = batches_made
   local is_waited_for
   do
    local mark = redis.call('ZSCORE', KEYS[27], ARGV[5])
    is_waited_for = mark and tonumber(mark) > now
   end
   if is_waited_for then
    redis.call('PUBLISH', ARGV[6], 'ready\t' .. ARGV[5] .. '\t' .. count_9)
   end
  end
 end
 count_stat('p', #ids_11)
 repeat
  local total = #event_lines
  local most_6 = tonumber(ARGV[7])
  if total == 0 or most_6 == 0 then
   break
  end
  local added_2 = 0
  for first_5 = 1, total, 64 do
   local last_5 = math.min(first_5 + 64 - 1, total)
   local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first_5, last_5)
   redis.call('XADD', KEYS[30], '*', 't', string.format('%d', now), 'q', ARGV[5], 'n', last_5 - first_5 + 1, 'e', lines)
   added_2 = added_2 + (40 + math.floor(1.2 * (#ARGV[5] + #lines)))
  end
  redis.call('HINCRBY', KEYS[31], math.floor(now / 86400000), total)
  local held_5 = redis.call('HINCRBY', KEYS[31], 'events_bytes', added_2)
  local full = most_6 < 4 * 1048576 and most_6 / 4 or 1048576
  if held_5 >= full and held_5 - added_2 < full then
   redis.pcall('PUBLISH', KEYS[30], held_5)
  end
  if held_5 > most_6 / 2 then
   most_6 = tonumber(redis.call('HGET', KEYS[31], 'events_most') or most_6)
  end
  if held_5 > most_6 then
   do
    local most_7, added_3 = most_6 - math.floor(most_6 / 64), added_2
    local dropped, freed_2, entries_6, from_2 = 0, 0, 0, '-'
    repeat
     local found_3 = redis.call('XRANGE', KEYS[30], from_2, '+', 'COUNT', 100)
     for __20, entry_3 in ipairs(found_3) do
      if held_5 - freed_2 <= most_7 then
       break
      end
      local fields_2 = entry_3[2]
      dropped = dropped + tonumber(fields_2[6])
      local event_bytes
      do
       local place_5, lines_2 = fields_2[4], fields_2[8]
       event_bytes = 40 + math.floor(1.2 * (#place_5 + #lines_2))
      end
      freed_2 = freed_2 + event_bytes
      entries_6 = entries_6 + 1
      from_2 = '(' .. entry_3[1]
     end
    until freed_2 >= added_3 or held_5 - freed_2 <= most_7 or #found_3 < 100
    redis.call('XTRIM', KEYS[30], 'MAXLEN', redis.call('XLEN', KEYS[30]) - entries_6)
    redis.call('HINCRBY', KEYS[31], 'events_bytes', -freed_2)
    local known = redis.call('HMGET', KEYS[31], 'events_dropped', 'events_dropped_at')
    if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
     redis.call('HSET', KEYS[31], 'events_dropped_before', known[1])
    end
    redis.call('HINCRBY', KEYS[31], 'events_dropped', dropped)
    redis.call('HSET', KEYS[31], 'events_dropped_at', string.format('%d', now))
   end
  end
 until true
 reply = answer
until true
local ahead = counts[reply[1]]
if not ahead then
 return reply
end
local counted = asked == 1 and 1 or #reply - ahead
local its_3
do
 local left_5, its_ticket_4 = left, its_ticket
 if not left_5 then
  local time_5 = redis.call('TIME')
  left_5, its_ticket_4 = ARGV[1], string.format('%.0f', time_5[1] * 1000000 + time_5[2] + ARGV[2] * 1000)
 end
 do
  local left_6, its_ticket_5 = left_5 - counted, its_ticket_4
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], left_6 .. ' ' .. its_ticket_5, 'PXAT', math.floor(its_ticket_5 / 1000))
 end
 its_3 = its_ticket_4
end
return {
 'counted',
 its_3,
 reply,
 counted,
 counted == free and (left_ms or tonumber(ARGV[2])) or 0,
}
