--{"name": "consume", "purpose": "delivers up to `count` ready jobs, each under a lease of `ttr` (edge F), after moving this queue's own due", "keys": ["jobs", "runs", "ready", "front", "prio", "priorities", "delayed", "retry", "expiring", "working", "keys", "flags", "due", "ends", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "blocked", "outgoing"], "args": ["now_ms", "queue", "channel", "cap", "ttr", "count", "in_flight", "freeze", "mark", "promote", "skip", "budget"], "rest": true, "replies": ["jobs", "none", "paused", "full", "more", "keyed"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local last_part = ''
local last_time = 0
local event_lines = {
}
local function count_durations(metric, durations)
 if #durations == 1 then
  local bucket
  repeat
   local ms = durations[1]
   if ms < 1 then
    bucket = 0
    break
   end
   bucket = math.floor(math.log(ms) / 0.17328679513998632 + 1e-09) + 1
  until true
  local metric_2 = metric .. bucket
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. metric_2
  if redis.call('HINCRBY', KEYS[18], field, 1) == 1 then
   repeat
    if redis.call('HGET', KEYS[18], 'm') == tostring(minute) then
     break
    end
    for _, field_2 in ipairs(redis.call('HKEYS', KEYS[18])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[18], field_2)
     end
    end
    redis.call('HSET', KEYS[18], 'm', minute)
    redis.call('EXPIRE', KEYS[18], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[19], '-inf', minute - 10)
    redis.call('ZADD', KEYS[19], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[19], 10 * 60)
   until true
  end
  return 
 end
 local of_ms, counts = {
 }, {
 }
 for i = 1, #durations do
  local ms_2 = durations[i]
  of_ms[ms_2] = (of_ms[ms_2] or 0) + 1
 end
 for ms_3, count in pairs(of_ms) do
  local b
  repeat
   if ms_3 < 1 then
    b = 0
    break
   end
   b = math.floor(math.log(ms_3) / 0.17328679513998632 + 1e-09) + 1
  until true
  counts[b] = (counts[b] or 0) + count
 end
 for b_2, count_2 in pairs(counts) do
  do
   local metric_3 = metric .. b_2
   local minute_2 = math.floor(now / 60000)
   local field_3 = string.format('%d', minute_2) .. metric_3
   if redis.call('HINCRBY', KEYS[18], field_3, count_2) == count_2 then
    repeat
     if redis.call('HGET', KEYS[18], 'm') == tostring(minute_2) then
      break
     end
     for __2, field_4 in ipairs(redis.call('HKEYS', KEYS[18])) do
      local its_2 = tonumber(string.match(field_4, '^%d+'))
      if its_2 and its_2 <= minute_2 - 10 then
       redis.call('HDEL', KEYS[18], field_4)
      end
     end
     redis.call('HSET', KEYS[18], 'm', minute_2)
     redis.call('EXPIRE', KEYS[18], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[19], '-inf', minute_2 - 10)
     redis.call('ZADD', KEYS[19], minute_2, ARGV[2])
     redis.call('EXPIRE', KEYS[19], 10 * 60)
    until true
   end
  end
 end
end
local asked = tonumber(ARGV[6])
local most = asked
local skip_max = tonumber(ARGV[11])
local bytes_max = tonumber(ARGV[12])
local has_expiring = false
local reply = {
 'jobs',
 now,
 0,
 0,
}
local waits = {
}
local delivered = 0
local tombstones = 0
local expired = 0
local skipped = 0
local known_dead = false
local bytes = 0
local chunk = 16
local burned = ARGV[8] == '1' and 0 or 1
local lease_end = string.format('%d', now + ARGV[5])
local last_consumer = ARGV[#ARGV]
local function options_to_tell(options)
 if options == '' then
  return ''
 end
 local bits, __3, __4, key_size, attributes_size = struct.unpack('>BI6I6HH', options, 7)
 if key_size + attributes_size > 0 or bits % 64 >= 32 then
  return options
 end
 return ''
end
local numbers = ''
local numbers_attempt = 0
local numbers_wait = 0
local numbers_size = 0
local function earlier(a, b_3)
 if a[2] ~= b_3[2] then
  return a[2] < b_3[2]
 end
 return a[1] < b_3[1]
end
local in_flight_max = tonumber(ARGV[7])
local marks = redis.call('HMGET', KEYS[12], 'p:' .. ARGV[2], 'l:' .. ARGV[2])
if marks[1] then
 do
  local mark_ms = tonumber(ARGV[9])
  if mark_ms > 0 then
   do
    redis.call('ZREMRANGEBYSCORE', KEYS[17], '-inf', now)
    redis.call('ZADD', KEYS[17], 'GT', now + mark_ms, ARGV[2])
   end
  end
 end
 return {
  'paused',
  now,
  nil,
 }
end
if marks[2] then
 return {
  'keyed',
  now,
 }
end
if in_flight_max > 0 then
 most = math.min(most, in_flight_max - redis.call('ZCARD', KEYS[10]))
 if most <= 0 then
  do
   local mark_ms_2 = tonumber(ARGV[9])
   if mark_ms_2 > 0 then
    do
     redis.call('ZREMRANGEBYSCORE', KEYS[17], '-inf', now)
     redis.call('ZADD', KEYS[17], 'GT', now + mark_ms_2, ARGV[2])
    end
   end
  end
  return {
   'full',
   now,
   nil,
  }
 end
end
local next_due = tonumber(redis.call('ZSCORE', KEYS[13], ARGV[2]) or 0)
if next_due > 0 and next_due <= now then
 local moved, later
 do
  local most_2 = math.max(tonumber(ARGV[10]), most)
  local found = {
  }
  do
   local set = KEYS[7]
   local entries = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most_2)
   for i_2 = 1, #entries, 2 do
    found[#found + 1] = {
     entries[i_2],
     tonumber(entries[i_2 + 1]),
     set,
    }
   end
  end
  local from_delayed = #found
  do
   local set_2 = KEYS[8]
   local entries_2 = redis.call('ZRANGEBYSCORE', set_2, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most_2)
   for i_3 = 1, #entries_2, 2 do
    found[#found + 1] = {
     entries_2[i_3],
     tonumber(entries_2[i_3 + 1]),
     set_2,
    }
   end
  end
  local moved_2 = math.min(#found, most_2)
  if moved_2 > 0 then
   if from_delayed > 0 and from_delayed < #found then
    table.sort(found, earlier)
   end
   local leaving = {
    [KEYS[7]] = {
    },
    [KEYS[8]] = {
    },
   }
   local ids, lateness = {
   }, {
   }
   for i_4 = 1, moved_2 do
    local id, at, set_3 = found[i_4][1], found[i_4][2], found[i_4][3]
    ids[i_4], lateness[i_4] = id, now - at
    leaving[set_3][#leaving[set_3] + 1] = id
    do
     local line = 'ready\t' .. id .. '\t\t' .. now - at .. '\t\t\t\t'
     event_lines[#event_lines + 1] = line
    end
   end
   for set_4, list in pairs(leaving) do
    if #list > 0 then
     redis.call('ZREM', set_4, unpack(list))
    end
   end
   if redis.call('EXISTS', KEYS[6]) == 0 then
    redis.call('RPUSH', KEYS[3], unpack(ids))
   else
    local its_3 = redis.call('HMGET', KEYS[6], unpack(ids))
    for i_5, id_2 in ipairs(ids) do
     do
      local place = its_3[i_5]
      do
       local priority = tonumber(place or 0)
       if priority == 0 then
        redis.call('RPUSH', KEYS[3], id_2)
       else
        local format_rank
        do
         local rank
         repeat
          local band = (100 - priority) * 17592186044416
          local from, to = string.format('%.0f', band), '(' .. string.format('%.0f', (band + 17592186044416))
          local last = redis.call('ZREVRANGEBYSCORE', KEYS[5], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
          rank = math.max(band + now, last[2] and tonumber(last[2]) + 1 or 0)
         until true
         format_rank = string.format('%.0f', rank)
        end
        redis.call('ZADD', KEYS[5], format_rank, id_2)
       end
      end
     end
    end
   end
   count_durations('l', lateness)
  end
  local reset_index
  do
   local index = KEYS[13]
   local head_score
   do
    local head = redis.call('ZRANGE', KEYS[7], 0, 0, 'WITHSCORES')
    head_score = head[2] and tonumber(head[2])
   end
   local head_score_2
   do
    local head_2 = redis.call('ZRANGE', KEYS[8], 0, 0, 'WITHSCORES')
    head_score_2 = head_2[2] and tonumber(head_2[2])
   end
   local a_2, b_4 = head_score, head_score_2
   local earliest = a_2 and b_4 and math.min(a_2, b_4) or a_2 or b_4
   redis.call('ZREM', index, ARGV[2])
   if earliest then
    redis.call('ZADD', index, earliest, ARGV[2])
   end
   reset_index = earliest
  end
  moved, later = moved_2, reset_index
 end
 next_due = later or 0
 if moved > most then
  do
   local count_3 = moved - most
   local is_waited_for
   do
    local mark = redis.call('ZSCORE', KEYS[17], ARGV[2])
    is_waited_for = mark and tonumber(mark) > now
   end
   if is_waited_for then
    redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_3)
   end
  end
 end
end
local has_prio, list_2 = false, KEYS[3]
if redis.call('EXISTS', KEYS[5], KEYS[9], KEYS[4]) > 0 then
 has_prio, has_expiring = redis.call('EXISTS', KEYS[5]) == 1, redis.call('EXISTS', KEYS[9]) == 1
 if redis.call('EXISTS', KEYS[4]) == 1 then
  list_2 = KEYS[4]
 end
end
while delivered < most and skipped < skip_max and bytes < bytes_max and not known_dead do
 local ids_2, ranks
 repeat
  local number
  repeat
   if tombstones + expired > 0 then
    number = 64
    break
   end
   number = math.min(most - delivered, chunk)
  until true
  if has_prio then
   local ids_3, ranks_2
   do
    local most_3 = number
    local found_2 = redis.call('ZRANGE', KEYS[5], 0, most_3 - 1, 'WITHSCORES')
    local ids_4, ranks_3, is_low = {
    }, {
    }, false
    for i_6 = 1, #found_2, 2 do
     if not is_low and tonumber(found_2[i_6 + 1]) >= 1759218604441600 then
      if redis.call('LLEN', KEYS[3]) > 0 then
       break
      end
      is_low = true
     end
     ids_4[#ids_4 + 1], ranks_3[#ranks_3 + 1] = found_2[i_6], found_2[i_6 + 1]
    end
    ids_3, ranks_2 = ids_4, ranks_3
   end
   if #ids_3 > 0 then
    redis.call('ZREM', KEYS[5], unpack(ids_3))
    ids_2, ranks = ids_3, ranks_2
    break
   end
  end
  if list_2 == KEYS[4] and redis.call('EXISTS', KEYS[4]) == 0 then
   list_2 = KEYS[3]
  end
  if number > 1 then
   ids_2, ranks = redis.call('LPOP', list_2, number) or {
   }
   break
  end
  local id_3 = redis.call('LPOP', list_2)
  ids_2, ranks = id_3 and {
   id_3,
  } or {
  }
 until true
 if #ids_2 == 0 then
  break
 end
 local first_left
 do
  local ids_5 = ids_2
  local first_left_2 = #ids_5 + 1
  local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids_5))
  local gone, gone_runs, lapsed = {
  }, {
  }, nil
  if #ids_5 > 1 or raw_runs[1] then
   local kept, size, alive = {
   }, bytes, 0
   for i_7, id_4 in ipairs(ids_5) do
    local raw_run, length, expires = raw_runs[i_7], 0, 0
    if raw_run then
     length, expires = redis.call('HSTRLEN', KEYS[1], id_4), struct.unpack('>I6', raw_run, 10)
    end
    if size >= bytes_max or alive >= most - delivered or skipped >= skip_max then
     first_left_2 = i_7
     break
    elseif length > 0 and expires > 0 and expires <= now then
     skipped = skipped + math.floor(length / 16384)
     lapsed = lapsed or {
     }
     lapsed[id_4] = true
    else
     size = size + length
     if length > 0 then
      alive = alive + 1
     end
    end
    kept[i_7] = id_4
   end
   ids_5 = kept
  end
  local records
  repeat
   local ids_6, lapsed_2 = ids_5, lapsed
   if not lapsed_2 then
    records = #ids_6 > 0 and redis.call('HMGET', KEYS[1], unpack(ids_6))
    break
   end
   local wanted, places, records_2 = {
   }, {
   }, {
   }
   for i_8, id_5 in ipairs(ids_6) do
    if not lapsed_2[id_5] then
     wanted[#wanted + 1], places[#places + 1] = id_5, i_8
    end
   end
   local found_3 = #wanted > 0 and redis.call('HMGET', KEYS[1], unpack(wanted)) or {
   }
   for i_9, record in ipairs(found_3) do
    records_2[places[i_9]] = record
   end
   records = records_2
  until true
  local new_runs, leases, delivered_ids, taken = {
  }, {
  }, {
  }, 0
  for i_10 = 1, #ids_5 do
   local id_6 = ids_5[i_10]
   if delivered >= most then
    first_left_2 = i_10
    break
   end
   local value = records[i_10]
   if value then
    local deliver_one
    repeat
     local raw, raw_run_2 = records[i_10], raw_runs[i_10]
     local tries, expires_2, due_ms, options_2, body_at
     do
      local bits_2, tries_2, expires_3, at_2 = struct.unpack('>BHI6', raw)
      local due_ms_2, options_3 = nil, ''
      if bits_2 >= 2 then
       due_ms_2, at_2 = struct.unpack('>I6', raw, at_2)
       bits_2 = bits_2 - 2
      end
      if bits_2 == 1 then
       options_3, at_2 = struct.unpack('>Hc0', raw, at_2)
      end
      tries, expires_2, due_ms, options_2, body_at = tries_2, expires_3, due_ms_2, options_3, at_2
     end
     local attempt, used, depended, history = 0, 0, 0, ''
     if raw_run_2 then
      local history_at, marks_2, __5
      attempt, used, tries, marks_2, expires_2, due_ms, __5, __5, __5, history_at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_run_2)
      history = string.sub(raw_run_2, history_at)
      if marks_2 >= 4 then
       depended = marks_2 - marks_2 % 4
      end
     end
     if expires_2 > 0 and expires_2 <= now then
      do
       local attempt_2 = attempt
       do
        local line_2 = 'expired' .. '\t' .. id_6 .. '\t' .. attempt_2 .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
        event_lines[#event_lines + 1] = line_2
       end
      end
      deliver_one = nil
      break
     end
     attempt = attempt + 1
     if used < 65535 then
      used = used + burned
     end
     local value_2 = due_ms
     if not value_2 then
      local id_time
      repeat
       local part = string.sub(id_6, 1, 10)
       if part == last_part then
        id_time = last_time
        break
       end
       local a_3, b_5, c, d, e, f, g, h, i_11, j = string.byte(part, 1, 10)
       local value_of
       repeat
        if a_3 < 58 then
         value_of = a_3 - 48
         break
        end
        if a_3 < 73 then
         value_of = a_3 - 55
         break
        end
        if a_3 < 76 then
         value_of = a_3 - 56
         break
        end
        if a_3 < 79 then
         value_of = a_3 - 57
         break
        end
        if a_3 < 85 then
         value_of = a_3 - 58
         break
        end
        value_of = a_3 - 59
       until true
       local value_of_2
       repeat
        if b_5 < 58 then
         value_of_2 = b_5 - 48
         break
        end
        if b_5 < 73 then
         value_of_2 = b_5 - 55
         break
        end
        if b_5 < 76 then
         value_of_2 = b_5 - 56
         break
        end
        if b_5 < 79 then
         value_of_2 = b_5 - 57
         break
        end
        if b_5 < 85 then
         value_of_2 = b_5 - 58
         break
        end
        value_of_2 = b_5 - 59
       until true
       local value_of_3
       repeat
        if c < 58 then
         value_of_3 = c - 48
         break
        end
        if c < 73 then
         value_of_3 = c - 55
         break
        end
        if c < 76 then
         value_of_3 = c - 56
         break
        end
        if c < 79 then
         value_of_3 = c - 57
         break
        end
        if c < 85 then
         value_of_3 = c - 58
         break
        end
        value_of_3 = c - 59
       until true
       local value_of_4
       repeat
        if d < 58 then
         value_of_4 = d - 48
         break
        end
        if d < 73 then
         value_of_4 = d - 55
         break
        end
        if d < 76 then
         value_of_4 = d - 56
         break
        end
        if d < 79 then
         value_of_4 = d - 57
         break
        end
        if d < 85 then
         value_of_4 = d - 58
         break
        end
        value_of_4 = d - 59
       until true
       local value_of_5
       repeat
        if e < 58 then
         value_of_5 = e - 48
         break
        end
        if e < 73 then
         value_of_5 = e - 55
         break
        end
        if e < 76 then
         value_of_5 = e - 56
         break
        end
        if e < 79 then
         value_of_5 = e - 57
         break
        end
        if e < 85 then
         value_of_5 = e - 58
         break
        end
        value_of_5 = e - 59
       until true
       local high = (((value_of * 32 + value_of_2) * 32 + value_of_3) * 32 + value_of_4) * 32 + value_of_5
       last_part = part
       local value_of_6
       repeat
        if f < 58 then
         value_of_6 = f - 48
         break
        end
        if f < 73 then
         value_of_6 = f - 55
         break
        end
        if f < 76 then
         value_of_6 = f - 56
         break
        end
        if f < 79 then
         value_of_6 = f - 57
         break
        end
        if f < 85 then
         value_of_6 = f - 58
         break
        end
        value_of_6 = f - 59
       until true
       local value_of_7
       repeat
        if g < 58 then
         value_of_7 = g - 48
         break
        end
        if g < 73 then
         value_of_7 = g - 55
         break
        end
        if g < 76 then
         value_of_7 = g - 56
         break
        end
        if g < 79 then
         value_of_7 = g - 57
         break
        end
        if g < 85 then
         value_of_7 = g - 58
         break
        end
        value_of_7 = g - 59
       until true
       local value_of_8
       repeat
        if h < 58 then
         value_of_8 = h - 48
         break
        end
        if h < 73 then
         value_of_8 = h - 55
         break
        end
        if h < 76 then
         value_of_8 = h - 56
         break
        end
        if h < 79 then
         value_of_8 = h - 57
         break
        end
        if h < 85 then
         value_of_8 = h - 58
         break
        end
        value_of_8 = h - 59
       until true
       local value_of_9
       repeat
        if i_11 < 58 then
         value_of_9 = i_11 - 48
         break
        end
        if i_11 < 73 then
         value_of_9 = i_11 - 55
         break
        end
        if i_11 < 76 then
         value_of_9 = i_11 - 56
         break
        end
        if i_11 < 79 then
         value_of_9 = i_11 - 57
         break
        end
        if i_11 < 85 then
         value_of_9 = i_11 - 58
         break
        end
        value_of_9 = i_11 - 59
       until true
       local value_of_10
       repeat
        if j < 58 then
         value_of_10 = j - 48
         break
        end
        if j < 73 then
         value_of_10 = j - 55
         break
        end
        if j < 76 then
         value_of_10 = j - 56
         break
        end
        if j < 79 then
         value_of_10 = j - 57
         break
        end
        if j < 85 then
         value_of_10 = j - 58
         break
        end
        value_of_10 = j - 59
       until true
       last_time = ((((high * 32 + value_of_6) * 32 + value_of_7) * 32 + value_of_8) * 32 + value_of_9) * 32 + value_of_10
       id_time = last_time
      until true
      value_2 = id_time
     end
     due_ms = value_2
     local wait = now > due_ms and now - due_ms or 0
     local body = string.sub(raw, body_at)
     bytes = bytes + #body
     delivered = delivered + 1
     waits[delivered] = wait
     local consumer = ARGV[13 - 1 + delivered] or last_consumer
     reply[delivered + 4] = {
      id_6,
      attempt,
      used,
      tries,
      expires_2,
      options_to_tell(options_2),
      body,
     }
     do
      local format_numbers
      do
       local attempt_3, size_2 = attempt, #body
       if attempt_3 ~= numbers_attempt or wait ~= numbers_wait or size_2 ~= numbers_size then
        numbers_attempt, numbers_wait, numbers_size = attempt_3, wait, size_2
        numbers = string.format('\t%d\t%d\t\t%d\t', attempt_3, wait, size_2)
       end
       format_numbers = numbers
      end
      local line_3 = 'consumed\t' .. id_6 .. format_numbers .. consumer .. '\t'
      event_lines[#event_lines + 1] = line_3
     end
     deliver_one = struct.pack('>I4HHBI6I6I6Hc0Bc0', attempt, used, tries, 1 - burned + depended, expires_2, due_ms, now, #options_2, options_2, #consumer, consumer) .. history
    until true
    value = deliver_one
   end
   local run = value
   if run then
    new_runs[taken + 1], new_runs[taken + 2] = id_6, run
    leases[taken + 1], leases[taken + 2] = lease_end, id_6
    delivered_ids[taken / 2 + 1] = id_6
    taken = taken + 2
   elseif lapsed and lapsed[id_6] then
    do
     local attempt_4 = (struct.unpack('>I4', raw_runs[i_10]))
     do
      local line_4 = 'expired' .. '\t' .. id_6 .. '\t' .. attempt_4 .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
      event_lines[#event_lines + 1] = line_4
     end
    end
    gone[#gone + 1], gone_runs[#gone + 1] = id_6, raw_runs[i_10]
   elseif records[i_10] then
    gone[#gone + 1], gone_runs[#gone + 1] = id_6, raw_runs[i_10]
   else
    tombstones = tombstones + 1
    skipped = skipped + 1
   end
  end
  if #gone > 0 then
   do
    redis.call('HDEL', KEYS[1], unpack(gone))
    redis.call('HDEL', KEYS[2], unpack(gone))
    redis.call('HDEL', KEYS[6], unpack(gone))
   end
   do
    for i_12 = 1, #gone do
     local raw_2 = gone_runs[i_12]
     if raw_2 and (string.byte(raw_2, 9) >= 4) then
      do
       local id_7, options_4 = gone[i_12], (struct.unpack('>Hc0', raw_2, 28))
       do
        local message
        do
         local key_of
         repeat
          if options_4 == '' then
           key_of = ''
           break
          end
          local __6, __7, __8, __9, its_key = struct.unpack('>I6BI6I6Hc0', options_4)
          key_of = its_key
         until true
         message = 'ended\t' .. ARGV[2] .. '\t' .. id_7 .. '\t' .. 'expired' .. '\t' .. key_of
        end
        redis.call('ZADD', KEYS[23], now, message)
       end
      end
     end
    end
   end
   if has_expiring then
    redis.call('ZREM', KEYS[9], unpack(gone))
   end
   expired = expired + #gone
   skipped = skipped + 2 * #gone
   known_dead = has_expiring
  end
  if taken > 0 then
   redis.call('HSET', KEYS[2], unpack(new_runs))
   redis.call('ZADD', KEYS[10], unpack(leases))
   if has_expiring then
    redis.call('ZREM', KEYS[9], unpack(delivered_ids))
   end
  end
  if bytes < delivered * 4096 then
   chunk = 64
  end
  first_left = first_left_2, delivered_ids
 end
 do
  local ids_7, ranks_4, first = ids_2, ranks, first_left
  for i_13 = #ids_7, first, -1 do
   if ranks_4 then
    redis.call('ZADD', KEYS[5], ranks_4[i_13], ids_7[i_13])
   else
    redis.call('LPUSH', list_2, ids_7[i_13])
   end
  end
 end
 if known_dead then
  do
   local result
   repeat
    local known = redis.call('ZCOUNT', KEYS[9], '-inf', now)
    if known == 0 then
     result = false
     break
    end
    local elsewhere = redis.call('ZCARD', KEYS[7]) + redis.call('ZCARD', KEYS[8]) + redis.call('ZCARD', KEYS[22])
    local line_size
    do
     local tombstones_2 = tonumber(redis.call('HGET', KEYS[12], 't:' .. ARGV[2]) or 0)
     line_size = redis.call('LLEN', KEYS[3]) + redis.call('LLEN', KEYS[4]) - tombstones_2 + redis.call('ZCARD', KEYS[5])
    end
    result = line_size + tombstones <= known - math.min(known, elsewhere)
   until true
   known_dead = result
  end
 end
end
local next_due_2 = next_due
if tombstones > 0 then
 do
  local change = -tombstones
  local field_5 = 't:' .. ARGV[2]
  local left = redis.call('HINCRBY', KEYS[12], field_5, change)
  if left > 0 and change > 0 then
   local in_front = redis.call('LLEN', KEYS[4])
   if left >= in_front + redis.call('LLEN', KEYS[3]) then
    redis.call('DEL', KEYS[3], KEYS[4])
    left = 0
   else
    local list_3 = in_front > 0 and KEYS[4] or KEYS[3]
    for __10 = 1, 8 do
     local id_8 = redis.call('LINDEX', list_3, 0)
     if left == 0 or not id_8 or redis.call('HEXISTS', KEYS[1], id_8) == 1 then
      break
     end
     redis.call('LPOP', list_3)
     left = redis.call('HINCRBY', KEYS[12], field_5, -1)
    end
    if left > 500 then
     do
      local ms_4 = now
      redis.call('ZADD', KEYS[16], 'LT', math.min(ms_4, now + 600000), ARGV[2])
     end
    end
   end
  end
  if left <= 0 then
   redis.call('HDEL', KEYS[12], field_5)
  end
 end
end
if expired > 0 then
 do
  local count_4 = expired
  local minute_3 = math.floor(now / 60000)
  local field_6 = string.format('%d', minute_3) .. 'x'
  if redis.call('HINCRBY', KEYS[18], field_6, count_4) == count_4 then
   repeat
    if redis.call('HGET', KEYS[18], 'm') == tostring(minute_3) then
     break
    end
    for __11, field_7 in ipairs(redis.call('HKEYS', KEYS[18])) do
     local its_4 = tonumber(string.match(field_7, '^%d+'))
     if its_4 and its_4 <= minute_3 - 10 then
      redis.call('HDEL', KEYS[18], field_7)
     end
    end
    redis.call('HSET', KEYS[18], 'm', minute_3)
    redis.call('EXPIRE', KEYS[18], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[19], '-inf', minute_3 - 10)
    redis.call('ZADD', KEYS[19], minute_3, ARGV[2])
    redis.call('EXPIRE', KEYS[19], 10 * 60)
   until true
  end
 end
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HDEL', KEYS[12], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[13], ARGV[2])
  redis.call('ZREM', KEYS[14], ARGV[2])
  if redis.call('EXISTS', KEYS[11]) == 0 and redis.call('HEXISTS', KEYS[12], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[15], ARGV[2])
  end
 until true
end
if delivered > 0 then
 do
  local unused = redis.call('ZADD', KEYS[14], 'LT', 'CH', lease_end, ARGV[2]) == 1
 end
 count_durations('w', waits)
end
repeat
 local total = #event_lines
 local most_4 = tonumber(ARGV[4])
 if total == 0 or most_4 == 0 then
  break
 end
 local added = 0
 for first_2 = 1, total, 64 do
  local last_2 = math.min(first_2 + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first_2, last_2)
  redis.call('XADD', KEYS[20], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first_2 + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[21], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[21], 'events_bytes', added)
 local full = most_4 < 4 * 1048576 and most_4 / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[20], held)
 end
 if held > most_4 / 2 then
  most_4 = tonumber(redis.call('HGET', KEYS[21], 'events_most') or most_4)
 end
 if held > most_4 then
  do
   local most_5, added_2 = most_4 - math.floor(most_4 / 64), added
   local dropped, freed, entries_3, from_2 = 0, 0, 0, '-'
   repeat
    local found_4 = redis.call('XRANGE', KEYS[20], from_2, '+', 'COUNT', 100)
    for __12, entry in ipairs(found_4) do
     if held - freed <= most_5 then
      break
     end
     local fields = entry[2]
     dropped = dropped + tonumber(fields[6])
     local event_bytes
     do
      local place_2, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place_2 + #lines_2))
     end
     freed = freed + event_bytes
     entries_3 = entries_3 + 1
     from_2 = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_5 or #found_4 < 100
   redis.call('XTRIM', KEYS[20], 'MAXLEN', redis.call('XLEN', KEYS[20]) - entries_3)
   redis.call('HINCRBY', KEYS[21], 'events_bytes', -freed)
   local known_2 = redis.call('HMGET', KEYS[21], 'events_dropped', 'events_dropped_at')
   if known_2[1] and now - tonumber(known_2[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[21], 'events_dropped_before', known_2[1])
   end
   redis.call('HINCRBY', KEYS[21], 'events_dropped', dropped)
   redis.call('HSET', KEYS[21], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
local early = not known_dead and (skipped >= skip_max or bytes >= bytes_max)
if delivered > 0 then
 if delivered < asked then
  reply[3] = next_due_2
  if early then
   reply[4] = 1
  else
   do
    local mark_ms_3 = tonumber(ARGV[9])
    if mark_ms_3 > 0 then
     do
      redis.call('ZREMRANGEBYSCORE', KEYS[17], '-inf', now)
      redis.call('ZADD', KEYS[17], 'GT', now + mark_ms_3, ARGV[2])
     end
    end
   end
  end
 end
 return reply
end
if early then
 return {
  'more',
  now,
 }
end
do
 local mark_ms_4 = tonumber(ARGV[9])
 if mark_ms_4 > 0 then
  do
   redis.call('ZREMRANGEBYSCORE', KEYS[17], '-inf', now)
   redis.call('ZADD', KEYS[17], 'GT', now + mark_ms_4, ARGV[2])
  end
 end
end
return {
 'none',
 now,
 next_due_2,
}
