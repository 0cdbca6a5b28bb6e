--{"name": "limited_consume_with_limits", "purpose": "as consume, for queues whose jobs have limit keys and for queues with limits. Hands out up to `count` ready", "keys": ["limit", "jobs", "runs", "ready", "front", "prio", "priorities", "lines", "turns", "shares", "delayed", "retry", "expiring", "working", "keys", "flags", "due", "ends", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "blocked", "outgoing"], "args": ["allowance", "interval", "requests", "now_ms", "queue", "channel", "cap", "ttr", "count", "in_flight", "freeze", "mark", "promote", "skip", "budget", "limits"], "rest": true, "replies": ["limited", "counted", "jobs", "none", "paused", "full", "more"]}
local counts = {
 jobs = 4,
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
 ARGV[9] = free
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
 local LINE_KEY_END = -2 - 7 - 26
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
   if redis.call('HINCRBY', KEYS[22], field, 1) == 1 then
    repeat
     if redis.call('HGET', KEYS[22], 'm') == tostring(minute) then
      break
     end
     for _, field_2 in ipairs(redis.call('HKEYS', KEYS[22])) do
      local its = tonumber(string.match(field_2, '^%d+'))
      if its and its <= minute - 10 then
       redis.call('HDEL', KEYS[22], field_2)
      end
     end
     redis.call('HSET', KEYS[22], 'm', minute)
     redis.call('EXPIRE', KEYS[22], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[23], '-inf', minute - 10)
     redis.call('ZADD', KEYS[23], minute, ARGV[5])
     redis.call('EXPIRE', KEYS[23], 10 * 60)
    until true
   end
   return 
  end
  local of_ms, counts_2 = {
  }, {
  }
  for i_2 = 1, #durations do
   local ms_2 = durations[i_2]
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
   counts_2[b] = (counts_2[b] or 0) + count
  end
  for b_2, count_2 in pairs(counts_2) do
   do
    local metric_3 = metric .. b_2
    local minute_2 = math.floor(now / 60000)
    local field_3 = string.format('%d', minute_2) .. metric_3
    if redis.call('HINCRBY', KEYS[22], field_3, count_2) == count_2 then
     repeat
      if redis.call('HGET', KEYS[22], 'm') == tostring(minute_2) then
       break
      end
      for __2, field_4 in ipairs(redis.call('HKEYS', KEYS[22])) do
       local its_2 = tonumber(string.match(field_4, '^%d+'))
       if its_2 and its_2 <= minute_2 - 10 then
        redis.call('HDEL', KEYS[22], field_4)
       end
      end
      redis.call('HSET', KEYS[22], 'm', minute_2)
      redis.call('EXPIRE', KEYS[22], 10 * 60)
      redis.call('ZREMRANGEBYSCORE', KEYS[23], '-inf', minute_2 - 10)
      redis.call('ZADD', KEYS[23], minute_2, ARGV[5])
      redis.call('EXPIRE', KEYS[23], 10 * 60)
     until true
    end
   end
  end
 end
 local asked_2 = tonumber(ARGV[9])
 local most = asked_2
 local skip_max = tonumber(ARGV[14])
 local bytes_max = tonumber(ARGV[15])
 local has_expiring = false
 local reply_2 = {
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
 local burned = ARGV[11] == '1' and 0 or 1
 local lease_end = string.format('%d', now + ARGV[8])
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
 local now_us = now * 1000
 local function conform(tat, its_step, its_burst)
  local latest = now_us + its_burst * its_step
  tat = math.min(math.max(tat, now_us), latest)
  return math.floor((latest - tat) / its_step), tat
 end
 if redis.call('HEXISTS', KEYS[16], 'p:' .. ARGV[5]) == 1 then
  do
   local mark_ms = tonumber(ARGV[12])
   if mark_ms > 0 then
    do
     redis.call('ZREMRANGEBYSCORE', KEYS[21], '-inf', now)
     redis.call('ZADD', KEYS[21], 'GT', now + mark_ms, ARGV[5])
    end
   end
  end
  reply = {
   'paused',
   now,
   nil,
  }
  break
 end
 most = math.min(most, 128)
 if tonumber(ARGV[10]) > 0 then
  most = math.min(most, tonumber(ARGV[10]) - redis.call('ZCARD', KEYS[14]))
  if most <= 0 then
   do
    local mark_ms_2 = tonumber(ARGV[12])
    if mark_ms_2 > 0 then
     do
      redis.call('ZREMRANGEBYSCORE', KEYS[21], '-inf', now)
      redis.call('ZADD', KEYS[21], 'GT', now + mark_ms_2, ARGV[5])
     end
    end
   end
   reply = {
    'full',
    now,
    nil,
   }
   break
  end
 end
 local queue_step, queue_burst, at_once, step, burst, weight
 repeat
  if ARGV[16] == '' then
   queue_step, queue_burst, at_once, step, burst, weight = 0, 0, 0, 0, 0, 1
   break
  end
  local queue_step_2, queue_burst_2, at_once_2, step_2, burst_2, weight_2 = string.match(ARGV[16], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  queue_step, queue_burst, at_once, step, burst, weight = tonumber(queue_step_2), tonumber(queue_burst_2), tonumber(at_once_2), tonumber(step_2), tonumber(burst_2), tonumber(weight_2)
 until true
 local raw_clock, virtual, plain_start, queue_tat = nil, 0, 0, 0
 if queue_step > 0 then
  local free_2
  do
   local raw = redis.call('HGET', KEYS[10], '')
   raw_clock = raw
   do
    local result, result_2, result_3
    repeat
     if not raw then
      result, result_2, result_3 = 0, 0, 0
      break
     end
     result, result_2, result_3 = struct.unpack('>ddd', raw)
    until true
    virtual, plain_start, queue_tat = result, result_2, result_3
   end
  end
  do
   local result_4, result_5
   do
    local tat_2, its_step_2, its_burst_2 = queue_tat, queue_step, queue_burst
    local latest_2 = now_us + its_burst_2 * its_step_2
    tat_2 = math.min(math.max(tat_2, now_us), latest_2)
    result_4, result_5 = math.floor((latest_2 - tat_2) / its_step_2), tat_2
   end
   free_2, queue_tat = result_4, result_5
  end
  if free_2 <= 0 then
   local next_due
   do
    local tat_3, its_step_3, its_burst_3 = queue_tat, queue_step, queue_burst
    next_due = math.ceil((tat_3 + its_step_3 - its_burst_3 * its_step_3) / 1000)
   end
   do
    local mark_ms_3 = tonumber(ARGV[12])
    if mark_ms_3 > 0 then
     do
      redis.call('ZREMRANGEBYSCORE', KEYS[21], '-inf', now)
      redis.call('ZADD', KEYS[21], 'GT', now + mark_ms_3, ARGV[5])
     end
    end
   end
   reply = {
    'none',
    now,
    next_due,
   }
   break
  end
  most = math.min(most, free_2)
 end
 local next_due_2 = tonumber(redis.call('ZSCORE', KEYS[17], ARGV[5]) or 0)
 if next_due_2 > 0 and next_due_2 <= now then
  local moved, later
  do
   local most_2 = math.max(tonumber(ARGV[13]), most)
   local found = {
   }
   do
    local set = KEYS[11]
    local entries = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most_2)
    for i_3 = 1, #entries, 2 do
     found[#found + 1] = {
      entries[i_3],
      tonumber(entries[i_3 + 1]),
      set,
     }
    end
   end
   local from_delayed = #found
   do
    local set_2 = KEYS[12]
    local entries_2 = redis.call('ZRANGEBYSCORE', set_2, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most_2)
    for i_4 = 1, #entries_2, 2 do
     found[#found + 1] = {
      entries_2[i_4],
      tonumber(entries_2[i_4 + 1]),
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
     [KEYS[11]] = {
     },
     [KEYS[12]] = {
     },
    }
    local ids, lateness = {
    }, {
    }
    for i_5 = 1, moved_2 do
     local id, at, set_3 = found[i_5][1], found[i_5][2], found[i_5][3]
     ids[i_5], lateness[i_5] = id, now - at
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
    if redis.call('EXISTS', KEYS[7]) == 0 then
     redis.call('RPUSH', KEYS[4], unpack(ids))
    else
     local its_3 = redis.call('HMGET', KEYS[7], unpack(ids))
     for i_6, id_2 in ipairs(ids) do
      do
       local place = its_3[i_6]
       if (place and string.find(place, '%z')) then
        do
         local place_2 = place
         local zero
         do
          local place_3 = place_2
          zero = place_3 and string.find(place_3, '%z')
         end
         local band, number = string.sub(place_2, 1, zero + 1), nil
         number = number or 140737488355328 + redis.call('HINCRBY', KEYS[16], 'l:' .. ARGV[5], 1)
         place_2 = band .. struct.pack('>I6', number)
         redis.call('HSET', KEYS[7], id_2, place_2)
         redis.call('ZADD', KEYS[8], 0, place_2 .. id_2)
         repeat
          local its_key = string.sub(place_2, 1, zero - 1)
          local turn_of
          do
           local score = tonumber(redis.call('ZSCORE', KEYS[9], its_key) or nil)
           turn_of = score and score >= -4503599627370496 and score or nil
          end
          if turn_of then
           break
          end
          local virtual_2, __5, start
          do
           local raw_2 = redis.call('HMGET', KEYS[10], '', its_key)
           local virtual_3
           repeat
            local raw_3 = raw_2[1]
            if not raw_3 then
             virtual_3 = 0, 0, 0
             break
            end
            virtual_3 = struct.unpack('>ddd', raw_3)
           until true
           local in_work, start_2, tat_4
           repeat
            local raw_4 = raw_2[2]
            if not raw_4 then
             in_work, start_2, tat_4 = 0, 0, 0
             break
            end
            in_work, start_2, tat_4 = struct.unpack('>I4dd', raw_4)
           until true
           virtual_2, __5, start = virtual_3, in_work, start_2, tat_4
          end
          local format_turn
          do
           local score_2 = math.max(virtual_2, start)
           format_turn = string.format('%.0f', score_2)
          end
          redis.call('ZADD', KEYS[9], format_turn, its_key)
         until true
        end
       else
        do
         local priority = tonumber(place or 0)
         if priority == 0 then
          redis.call('RPUSH', KEYS[4], id_2)
         else
          local format_rank
          do
           local rank
           repeat
            local band_2 = (100 - priority) * 17592186044416
            local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
            local last = redis.call('ZREVRANGEBYSCORE', KEYS[6], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
            rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
           until true
           format_rank = string.format('%.0f', rank)
          end
          redis.call('ZADD', KEYS[6], format_rank, id_2)
         end
        end
       end
      end
     end
    end
    count_durations('l', lateness)
   end
   local reset_index
   do
    local index = KEYS[17]
    local head_score
    do
     local head = redis.call('ZRANGE', KEYS[11], 0, 0, 'WITHSCORES')
     head_score = head[2] and tonumber(head[2])
    end
    local head_score_2
    do
     local head_2 = redis.call('ZRANGE', KEYS[12], 0, 0, 'WITHSCORES')
     head_score_2 = head_2[2] and tonumber(head_2[2])
    end
    local a_2, b_4 = head_score, head_score_2
    local earliest = a_2 and b_4 and math.min(a_2, b_4) or a_2 or b_4
    redis.call('ZREM', index, ARGV[5])
    if earliest then
     redis.call('ZADD', index, earliest, ARGV[5])
    end
    reset_index = earliest
   end
   moved, later = moved_2, reset_index
  end
  next_due_2 = later or 0
  if moved > most then
   do
    local count_3 = moved - most
    local is_waited_for
    do
     local mark = redis.call('ZSCORE', KEYS[21], ARGV[5])
     is_waited_for = mark and tonumber(mark) > now
    end
    if is_waited_for then
     redis.call('PUBLISH', ARGV[6], 'ready\t' .. ARGV[5] .. '\t' .. count_3)
    end
   end
  end
 end
 local others = redis.call('EXISTS', KEYS[13], KEYS[4], KEYS[6])
 has_expiring = others > 0 and redis.call('EXISTS', KEYS[13]) == 1
 local has_plain = others > 0 and (not has_expiring or others > 1)
 local format_turn_2
 do
  local score_3 = -4503599627370496
  format_turn_2 = string.format('%.0f', score_3)
 end
 local let_on = redis.call('ZRANGEBYSCORE', KEYS[9], format_turn_2, string.format('%.0f', (now - 4503599627370496)), 'LIMIT', 0, 64)
 if #let_on > 0 then
  local raw_shares, scores = redis.call('HMGET', KEYS[10], unpack(let_on)), {
  }
  if raw_clock == nil then
   do
    local raw_5 = redis.call('HGET', KEYS[10], '')
    raw_clock = raw_5
    do
     local result_6, result_7, result_8
     repeat
      if not raw_5 then
       result_6, result_7, result_8 = 0, 0, 0
       break
      end
      result_6, result_7, result_8 = struct.unpack('>ddd', raw_5)
     until true
     virtual, plain_start, queue_tat = result_6, result_7, result_8
    end
   end
  end
  for i_7, key_let_on in ipairs(let_on) do
   local __6, start_3
   repeat
    local raw_6 = raw_shares[i_7]
    if not raw_6 then
     __6, start_3 = 0, 0, 0
     break
    end
    __6, start_3 = struct.unpack('>I4dd', raw_6)
   until true
   local format_turn_3
   do
    local score_4 = math.max(virtual, start_3)
    format_turn_3 = string.format('%.0f', score_4)
   end
   scores[2 * i_7 - 1], scores[2 * i_7] = format_turn_3, key_let_on
  end
  redis.call('ZADD', KEYS[9], unpack(scores))
 end
 local function goes_before(one, other)
  return one.start < other.start or one.start == other.start and one.key < other.key
 end
 local turn_takers, head_3, tail, last_loaded = {
 }, 1, 0, nil
 local ahead = {
 }
 local default_stride = math.floor(1000000 / weight + 0.5)
 local has_weights = string.find(ARGV[16], '\n', 1, true)
 local has_key_limits = at_once > 0 or step > 0
 local width = 0
 while delivered < most and skipped < skip_max and bytes < bytes_max and not known_dead do
  local number_2
  repeat
   if tombstones + expired > 0 then
    number_2 = 64
    break
   end
   number_2 = math.min(most - delivered, chunk)
  until true
  width = math.max(width, number_2 + 1)
  local ids_2, takers, starts, places, touched
  do
   local number_3, width_2 = number_2, width
   do
    turn_takers, head_3, last_loaded, ahead = {
    }, 1, nil, {
    }
    local found_2 = redis.call('ZRANGEBYSCORE', KEYS[9], 0, '+inf', 'WITHSCORES', 'LIMIT', 0, width_2)
    local loaded = #found_2 / 2
    local fields = {
    }
    for i_8 = 1, loaded do
     fields[i_8] = found_2[2 * i_8 - 1]
    end
    if raw_clock == nil then
     fields[loaded + 1] = ''
    end
    local raw_shares_2 = #fields > 0 and redis.call('HMGET', KEYS[10], unpack(fields))
    if raw_clock == nil then
     do
      local raw_7 = raw_shares_2[loaded + 1]
      raw_clock = raw_7
      do
       local result_9, result_10, result_11
       repeat
        if not raw_7 then
         result_9, result_10, result_11 = 0, 0, 0
         break
        end
        result_9, result_10, result_11 = struct.unpack('>ddd', raw_7)
       until true
       virtual, plain_start, queue_tat = result_9, result_10, result_11
      end
     end
    end
    for i_9 = 1, loaded do
     local in_work_2, __7, tat_5
     repeat
      local raw_8 = raw_shares_2[i_9]
      if not raw_8 then
       in_work_2, __7, tat_5 = 0, 0, 0
       break
      end
      in_work_2, __7, tat_5 = struct.unpack('>I4dd', raw_8)
     until true
     local taker = {
      key = found_2[2 * i_9 - 1],
      start = tonumber(found_2[2 * i_9]),
      in_work = in_work_2,
      tat = tat_5,
      fetched = 0,
     }
     if has_weights then
      local stride_of
      do
       local its_key_2, default = taker.key, weight
       local weight_of
       repeat
        if its_key_2 == '' then
         weight_of = default
         break
        end
        local __8, found_3 = string.find(ARGV[16], '\n' .. its_key_2 .. '\t', 1, true)
        weight_of = found_3 and tonumber(string.match(ARGV[16], '^%d+', found_3 + 1)) or default
       until true
       stride_of = math.floor(1000000 / weight_of + 0.5)
      end
      taker.stride = stride_of
     end
     turn_takers[i_9] = taker
    end
    tail = loaded
    repeat
     if loaded < 4 or redis.call('ZCARD', KEYS[8]) > 3 * redis.call('ZCARD', KEYS[9]) then
      break
     end
     local first = 1
     for i_10 = 2, loaded + 1 do
      if i_10 > loaded or turn_takers[i_10].start ~= turn_takers[first].start then
       if i_10 - first >= 4 then
        do
         local first_2, last_2 = first, i_10 - 1
         local most_read, base = (last_2 - first_2 + 1) * (3 + 1), #ahead
         local found_4 = redis.call('ZRANGE', KEYS[8], '[' .. turn_takers[first_2].key .. '\0', '(' .. turn_takers[last_2].key .. '\1', 'BYLEX', 'LIMIT', 0, most_read)
         local next_one, taker_2, its_key_3 = first_2, nil, nil
         for i_11 = 1, #found_4 do
          local member = found_4[i_11]
          local member_key = string.sub(member, 1, LINE_KEY_END)
          if member_key ~= its_key_3 then
           its_key_3 = member_key
           if taker_2 then
            taker_2.line_end = base + i_11 - 1
           end
           taker_2 = turn_takers[next_one]
           if taker_2.key == its_key_3 then
            taker_2.fetched = base + i_11 - 1
            if next_one < last_2 then
             next_one = next_one + 1
            end
           else
            taker_2 = nil
           end
          end
          ahead[base + i_11] = member
         end
         if taker_2 then
          if #found_4 < most_read then
           taker_2.line_end = base + #found_4
          else
           taker_2.fetched = 0
          end
         end
        end
       end
       first = i_10
      end
     end
    until true
    if loaded == width_2 then
     last_loaded = {
      key = turn_takers[width_2].key,
      start = turn_takers[width_2].start,
     }
    end
    if has_plain then
     repeat
      local taker_3 = {
       key = '',
       start = math.max(virtual, plain_start),
       in_work = 0,
       tat = 0,
       fetched = 0,
      }
      local low, high = head_3, tail + 1
      tail = high
      local value = high == low
      if not value then
       local goes_before_2
       do
        local one_2 = turn_takers[high - 1]
        goes_before_2 = one_2.start < taker_3.start or one_2.start == taker_3.start and one_2.key < taker_3.key
       end
       value = goes_before_2
      end
      if value then
       turn_takers[high] = taker_3
       break
      end
      while low < high do
       local middle = math.floor((low + high) / 2)
       local goes_before_3
       do
        local one_3 = turn_takers[middle]
        goes_before_3 = one_3.start < taker_3.start or one_3.start == taker_3.start and one_3.key < taker_3.key
       end
       if goes_before_3 then
        low = middle + 1
       else
        high = middle
       end
      end
      table.insert(turn_takers, low, taker_3)
     until true
    end
   end
   local ids_3, takers_2, starts_2, places_2, touched_2 = {
   }, {
   }, {
   }, {
   }, {
   }
   local picked, turn_count, members = 0, 0, places_2
   while picked < number_3 and skipped < skip_max do
    local taker_4 = turn_takers[head_3]
    if not taker_4 or last_loaded and goes_before(last_loaded, taker_4) then
     break
    end
    head_3 = head_3 + 1
    if taker_4.is_empty == nil then
     taker_4.is_empty = false
     turn_count = turn_count + 1
     touched_2[turn_count] = taker_4
    end
    local wanted
    repeat
     local wanted_2 = number_3 - picked
     if not has_key_limits or taker_4.key == '' then
      wanted = wanted_2
      break
     end
     if at_once > 0 and taker_4.in_work + wanted_2 > at_once then
      wanted_2 = at_once - taker_4.in_work
      if wanted_2 <= 0 then
       taker_4.aside_until = now + 5000
      end
     end
     if step > 0 and wanted_2 > 0 then
      local free_3
      free_3, taker_4.tat = conform(taker_4.tat, step, burst)
      wanted_2 = math.min(wanted_2, free_3)
      if free_3 <= 0 then
       local conforms_at
       do
        local tat_6, its_step_4, its_burst_4 = taker_4.tat, step, burst
        conforms_at = math.ceil((tat_6 + its_step_4 - its_burst_4 * its_step_4) / 1000)
       end
       taker_4.aside_until = math.min(conforms_at, now + 5000)
      end
     end
     wanted = wanted_2
    until true
    if wanted <= 0 then
     skipped = skipped + 1
    else
     do
      local result_12
      repeat
       local wanted_3 = wanted
       if wanted_3 == 1 then
        result_12 = 1
        break
       end
       local rival = turn_takers[head_3]
       if last_loaded and (not rival or goes_before(last_loaded, rival)) then
        rival = last_loaded
       end
       if not rival then
        result_12 = wanted_3
        break
       end
       local lead = rival.start - taker_4.start
       local stride = taker_4.stride or default_stride
       if lead < stride then
        result_12 = 1
        break
       end
       local number_4 = math.floor(lead / stride) + 1
       if number_4 > 1 and lead % stride == 0 and rival.key < taker_4.key then
        number_4 = number_4 - 1
       end
       result_12 = math.min(number_4, wanted_3)
      until true
      wanted = result_12
     end
     local start_4, stride_2, got = taker_4.start, taker_4.stride or default_stride, 0
     if taker_4.key == '' then
      local found_5, ranks, list_2
      repeat
       local number_5 = wanted
       local ids_4, ranks_2
       do
        local found_6 = redis.call('ZRANGE', KEYS[6], 0, number_5 - 1, 'WITHSCORES')
        local ids_5, ranks_3, is_low = {
        }, {
        }, false
        for i_12 = 1, #found_6, 2 do
         if not is_low and tonumber(found_6[i_12 + 1]) >= 1759218604441600 then
          if redis.call('LLEN', KEYS[4]) > 0 then
           break
          end
          is_low = true
         end
         ids_5[#ids_5 + 1], ranks_3[#ranks_3 + 1] = found_6[i_12], found_6[i_12 + 1]
        end
        ids_4, ranks_2 = ids_5, ranks_3
       end
       if #ids_4 > 0 then
        redis.call('ZREM', KEYS[6], unpack(ids_4))
        found_5, ranks, list_2 = ids_4, ranks_2
        break
       end
       local list_3 = redis.call('EXISTS', KEYS[5]) == 1 and KEYS[5] or KEYS[4]
       found_5, ranks, list_2 = redis.call('LPOP', list_3, number_5) or {
       }, nil, list_3
      until true
      got = #found_5
      has_plain = got > 0
      taker_4.is_empty = not has_plain
      if members == places_2 then
       members = {
        unpack(places_2),
       }
      end
      for i_13 = 1, got do
       ids_3[picked + i_13], places_2[picked + i_13] = found_5[i_13], ranks and ranks[i_13] or list_2
      end
     else
      local line_2, fetched, line_end = ahead, taker_4.fetched, taker_4.line_end
      if not line_end then
       do
        local result_13
        do
         local its_key_4, first_3, most_3 = taker_4.key, fetched, wanted + 1
         result_13 = redis.call('ZRANGE', KEYS[8], '[' .. its_key_4 .. '\0', '(' .. its_key_4 .. '\1', 'BYLEX', 'LIMIT', first_3, most_3)
        end
        line_2 = result_13
       end
       fetched, line_end = 0, #line_2
      end
      got = line_end - fetched
      taker_4.is_empty = got <= wanted
      if got > wanted then
       got = wanted
      end
      taker_4.fetched = taker_4.fetched + got
      for i_14 = 1, got do
       local member_2 = line_2[fetched + i_14]
       places_2[picked + i_14], ids_3[picked + i_14] = member_2, string.sub(member_2, -26)
       if members ~= places_2 then
        members[#members + 1] = member_2
       end
      end
     end
     for i_15 = picked + 1, picked + got do
      takers_2[i_15], starts_2[i_15] = taker_4, start_4
      start_4 = start_4 + stride_2
     end
     picked = picked + got
     do
      local number_6 = got
      taker_4.start = taker_4.start + number_6 * (taker_4.stride or default_stride)
      taker_4.in_work = taker_4.in_work + number_6
      taker_4.tat = taker_4.tat + number_6 * step
     end
     if not taker_4.is_empty then
      repeat
       local low_2, high_2 = head_3, tail + 1
       tail = high_2
       local value_2 = high_2 == low_2
       if not value_2 then
        local goes_before_4
        do
         local one_4 = turn_takers[high_2 - 1]
         goes_before_4 = one_4.start < taker_4.start or one_4.start == taker_4.start and one_4.key < taker_4.key
        end
        value_2 = goes_before_4
       end
       if value_2 then
        turn_takers[high_2] = taker_4
        break
       end
       while low_2 < high_2 do
        local middle_2 = math.floor((low_2 + high_2) / 2)
        local goes_before_5
        do
         local one_5 = turn_takers[middle_2]
         goes_before_5 = one_5.start < taker_4.start or one_5.start == taker_4.start and one_5.key < taker_4.key
        end
        if goes_before_5 then
         low_2 = middle_2 + 1
        else
         high_2 = middle_2
        end
       end
       table.insert(turn_takers, low_2, taker_4)
      until true
     end
    end
   end
   if #members > 0 then
    redis.call('ZREM', KEYS[8], unpack(members))
   end
   ids_2, takers, starts, places, touched = ids_3, takers_2, starts_2, places_2, touched_2
  end
  if #touched == 0 then
   break
  end
  if #ids_2 > 0 then
   local before = delivered
   local first_left, delivered_ids
   do
    local ids_6 = ids_2
    local first_left_2 = #ids_6 + 1
    local raw_runs = redis.call('HMGET', KEYS[3], unpack(ids_6))
    local gone, gone_runs, lapsed = {
    }, {
    }, nil
    if #ids_6 > 1 or raw_runs[1] then
     local kept, size, alive = {
     }, bytes, 0
     for i_16, id_3 in ipairs(ids_6) do
      local raw_run, length, expires = raw_runs[i_16], 0, 0
      if raw_run then
       length, expires = redis.call('HSTRLEN', KEYS[2], id_3), struct.unpack('>I6', raw_run, 10)
      end
      if size >= bytes_max or alive >= most - delivered or skipped >= skip_max then
       first_left_2 = i_16
       break
      elseif length > 0 and expires > 0 and expires <= now then
       skipped = skipped + math.floor(length / 16384)
       lapsed = lapsed or {
       }
       lapsed[id_3] = true
      else
       size = size + length
       if length > 0 then
        alive = alive + 1
       end
      end
      kept[i_16] = id_3
     end
     ids_6 = kept
    end
    local records
    repeat
     local ids_7, lapsed_2 = ids_6, lapsed
     if not lapsed_2 then
      records = #ids_7 > 0 and redis.call('HMGET', KEYS[2], unpack(ids_7))
      break
     end
     local wanted_4, places_3, records_2 = {
     }, {
     }, {
     }
     for i_17, id_4 in ipairs(ids_7) do
      if not lapsed_2[id_4] then
       wanted_4[#wanted_4 + 1], places_3[#places_3 + 1] = id_4, i_17
      end
     end
     local found_7 = #wanted_4 > 0 and redis.call('HMGET', KEYS[2], unpack(wanted_4)) or {
     }
     for i_18, record in ipairs(found_7) do
      records_2[places_3[i_18]] = record
     end
     records = records_2
    until true
    local new_runs, leases, delivered_ids_2, taken = {
    }, {
    }, {
    }, 0
    for i_19 = 1, #ids_6 do
     local id_5 = ids_6[i_19]
     if delivered >= most then
      first_left_2 = i_19
      break
     end
     local value_3 = records[i_19]
     if value_3 then
      local deliver_one
      repeat
       local raw_9, raw_run_2 = records[i_19], raw_runs[i_19]
       local tries, expires_2, due_ms, options_2, body_at
       do
        local bits_2, tries_2, expires_3, at_2 = struct.unpack('>BHI6', raw_9)
        local due_ms_2, options_3 = nil, ''
        if bits_2 >= 2 then
         due_ms_2, at_2 = struct.unpack('>I6', raw_9, at_2)
         bits_2 = bits_2 - 2
        end
        if bits_2 == 1 then
         options_3, at_2 = struct.unpack('>Hc0', raw_9, at_2)
        end
        tries, expires_2, due_ms, options_2, body_at = tries_2, expires_3, due_ms_2, options_3, at_2
       end
       local attempt, used, depended, history = 0, 0, 0, ''
       if raw_run_2 then
        local history_at, marks, __9
        attempt, used, tries, marks, expires_2, due_ms, __9, __9, __9, history_at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_run_2)
        history = string.sub(raw_run_2, history_at)
        if marks >= 4 then
         depended = marks - marks % 4
        end
       end
       if expires_2 > 0 and expires_2 <= now then
        do
         local attempt_2 = attempt
         do
          local line_3 = 'expired' .. '\t' .. id_5 .. '\t' .. attempt_2 .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
          event_lines[#event_lines + 1] = line_3
         end
        end
        deliver_one = nil
        break
       end
       attempt = attempt + 1
       if used < 65535 then
        used = used + burned
       end
       local value_4 = due_ms
       if not value_4 then
        local id_time
        repeat
         local part = string.sub(id_5, 1, 10)
         if part == last_part then
          id_time = last_time
          break
         end
         local a_3, b_5, c, d, e, f, g, h, i_20, j = string.byte(part, 1, 10)
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
         local high_3 = (((value_of * 32 + value_of_2) * 32 + value_of_3) * 32 + value_of_4) * 32 + value_of_5
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
          if i_20 < 58 then
           value_of_9 = i_20 - 48
           break
          end
          if i_20 < 73 then
           value_of_9 = i_20 - 55
           break
          end
          if i_20 < 76 then
           value_of_9 = i_20 - 56
           break
          end
          if i_20 < 79 then
           value_of_9 = i_20 - 57
           break
          end
          if i_20 < 85 then
           value_of_9 = i_20 - 58
           break
          end
          value_of_9 = i_20 - 59
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
         last_time = ((((high_3 * 32 + value_of_6) * 32 + value_of_7) * 32 + value_of_8) * 32 + value_of_9) * 32 + value_of_10
         id_time = last_time
        until true
        value_4 = id_time
       end
       due_ms = value_4
       local wait = now > due_ms and now - due_ms or 0
       local body = string.sub(raw_9, body_at)
       bytes = bytes + #body
       delivered = delivered + 1
       waits[delivered] = wait
       local consumer = ARGV[17 - 1 + delivered] or last_consumer
       reply_2[delivered + 4] = {
        id_5,
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
        local line_4 = 'consumed\t' .. id_5 .. format_numbers .. consumer .. '\t'
        event_lines[#event_lines + 1] = line_4
       end
       deliver_one = struct.pack('>I4HHBI6I6I6Hc0Bc0', attempt, used, tries, 1 - burned + depended, expires_2, due_ms, now, #options_2, options_2, #consumer, consumer) .. history
      until true
      value_3 = deliver_one
     end
     local run = value_3
     if run then
      new_runs[taken + 1], new_runs[taken + 2] = id_5, run
      leases[taken + 1], leases[taken + 2] = lease_end, id_5
      delivered_ids_2[taken / 2 + 1] = id_5
      taken = taken + 2
     elseif lapsed and lapsed[id_5] then
      do
       local attempt_4 = (struct.unpack('>I4', raw_runs[i_19]))
       do
        local line_5 = 'expired' .. '\t' .. id_5 .. '\t' .. attempt_4 .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
        event_lines[#event_lines + 1] = line_5
       end
      end
      gone[#gone + 1], gone_runs[#gone + 1] = id_5, raw_runs[i_19]
     elseif records[i_19] then
      gone[#gone + 1], gone_runs[#gone + 1] = id_5, raw_runs[i_19]
     else
      tombstones = tombstones + 1
      skipped = skipped + 1
     end
    end
    if #gone > 0 then
     do
      redis.call('HDEL', KEYS[2], unpack(gone))
      redis.call('HDEL', KEYS[3], unpack(gone))
      redis.call('HDEL', KEYS[7], unpack(gone))
     end
     do
      for i_21 = 1, #gone do
       local raw_10 = gone_runs[i_21]
       if raw_10 and (string.byte(raw_10, 9) >= 4) then
        do
         local id_6, options_4 = gone[i_21], (struct.unpack('>Hc0', raw_10, 28))
         do
          local message
          do
           local key_of
           repeat
            if options_4 == '' then
             key_of = ''
             break
            end
            local __10, __11, __12, __13, its_key_5 = struct.unpack('>I6BI6I6Hc0', options_4)
            key_of = its_key_5
           until true
           message = 'ended\t' .. ARGV[5] .. '\t' .. id_6 .. '\t' .. 'expired' .. '\t' .. key_of
          end
          redis.call('ZADD', KEYS[27], now, message)
         end
        end
       end
      end
     end
     if has_expiring then
      redis.call('ZREM', KEYS[13], unpack(gone))
     end
     expired = expired + #gone
     skipped = skipped + 2 * #gone
     known_dead = has_expiring
    end
    if taken > 0 then
     redis.call('HSET', KEYS[3], unpack(new_runs))
     redis.call('ZADD', KEYS[14], unpack(leases))
     if has_expiring then
      redis.call('ZREM', KEYS[13], unpack(delivered_ids_2))
     end
    end
    if bytes < delivered * 4096 then
     chunk = 64
    end
    first_left, delivered_ids = first_left_2, delivered_ids_2
   end
   local next_one_2 = 1
   for i_22, id_7 in ipairs(ids_2) do
    if i_22 < first_left and delivered_ids[next_one_2] == id_7 then
     next_one_2 = next_one_2 + 1
     virtual = math.max(virtual, starts[i_22])
    else
     do
      local taker_5, number_7 = takers[i_22], -1
      taker_5.start = taker_5.start + number_7 * (taker_5.stride or default_stride)
      taker_5.in_work = taker_5.in_work + number_7
      taker_5.tat = taker_5.tat + number_7 * step
     end
     takers[i_22].aside_until = nil
    end
   end
   for i_23 = #ids_2, first_left, -1 do
    do
     local id_8, taker_6, place_4 = ids_2[i_23], takers[i_23], places[i_23]
     if taker_6.key ~= '' then
      redis.call('ZADD', KEYS[8], 0, place_4)
      taker_6.is_empty = false
     else
      has_plain = true
      if place_4 == KEYS[5] or place_4 == KEYS[4] then
       redis.call('LPUSH', place_4, id_8)
      else
       redis.call('ZADD', KEYS[6], place_4, id_8)
      end
     end
    end
   end
   queue_tat = queue_tat + (delivered - before) * queue_step
  end
  do
   local touched_3 = touched
   local new_turns, new_shares, left_4, forgotten = {
   }, {
   }, {
   }, {
   }
   local turn_size, share_size, sweep_at = 0, 0, nil
   for i_24 = 1, #touched_3 do
    local taker_7 = touched_3[i_24]
    local its_key_6, turn, is_kept = taker_7.key, nil, true
    if its_key_6 == '' then
     plain_start = taker_7.start
     is_kept = false
    elseif not taker_7.is_empty then
     turn = taker_7.aside_until and taker_7.aside_until - 4503599627370496 or taker_7.start
    elseif taker_7.in_work > 0 then
     left_4[#left_4 + 1] = its_key_6
    else
     local until_ms
     do
      local virtual_4, start_5, tat_7 = virtual, taker_7.start, taker_7.tat
      local until_ms_2 = math.max(start_5 > virtual_4 and now + 10000 or 0, math.ceil(tat_7 / 1000))
      until_ms = until_ms_2 > now and until_ms_2 or nil
     end
     if until_ms then
      turn = until_ms - 9007199254740992
      sweep_at = math.min(sweep_at or until_ms, until_ms)
     else
      left_4[#left_4 + 1], forgotten[#forgotten + 1] = its_key_6, its_key_6
      is_kept = false
     end
    end
    if turn then
     new_turns[turn_size + 1], new_turns[turn_size + 2] = turn, its_key_6
     turn_size = turn_size + 2
    end
    if is_kept then
     new_shares[share_size + 1], new_shares[share_size + 2] = its_key_6, struct.pack('>I4dd', taker_7.in_work, taker_7.start, taker_7.tat)
     share_size = share_size + 2
    end
   end
   if #left_4 > 0 then
    redis.call('ZREM', KEYS[9], unpack(left_4))
   end
   if #forgotten > 0 then
    redis.call('HDEL', KEYS[10], unpack(forgotten))
   end
   if turn_size > 0 then
    redis.call('ZADD', KEYS[9], unpack(new_turns))
   end
   new_shares[share_size + 1], new_shares[share_size + 2] = '', struct.pack('>ddd', virtual, plain_start, queue_tat)
   redis.call('HSET', KEYS[10], unpack(new_shares))
   if sweep_at then
    do
     local ms_4 = sweep_at
     redis.call('ZADD', KEYS[20], 'LT', math.min(ms_4, now + 600000), ARGV[5])
    end
   end
  end
  width = #ids_2 < number_2 and 64 or 0
  if known_dead then
   do
    local result_14
    repeat
     local known = redis.call('ZCOUNT', KEYS[13], '-inf', now)
     if known == 0 then
      result_14 = false
      break
     end
     local elsewhere = redis.call('ZCARD', KEYS[11]) + redis.call('ZCARD', KEYS[12]) + redis.call('ZCARD', KEYS[26])
     local line_size
     do
      local plain_size
      do
       local tombstones_2 = tonumber(redis.call('HGET', KEYS[16], 't:' .. ARGV[5]) or 0)
       plain_size = redis.call('LLEN', KEYS[4]) + redis.call('LLEN', KEYS[5]) - tombstones_2 + redis.call('ZCARD', KEYS[6])
      end
      line_size = plain_size + redis.call('ZCARD', KEYS[8])
     end
     result_14 = line_size + tombstones <= known - math.min(known, elsewhere)
    until true
    known_dead = result_14
   end
  end
 end
 if delivered > 0 and not raw_clock then
  do
   local ms_5 = now + 10000
   redis.call('ZADD', KEYS[20], 'LT', math.min(ms_5, now + 600000), ARGV[5])
  end
 end
 if delivered < asked_2 then
  local late = redis.call('ZRANGEBYSCORE', KEYS[9], '(' .. string.format('%.0f', (now + 5000 - 4503599627370496)), '(0', 'LIMIT', 0, 64)
  for __14, its_key_7 in ipairs(late) do
   redis.call('ZADD', KEYS[9], string.format('%.0f', (now + 5000 - 4503599627370496)), its_key_7)
  end
  local format_turn_4
  do
   local score_5 = -4503599627370496
   format_turn_4 = string.format('%.0f', score_5)
  end
  local aside = redis.call('ZRANGEBYSCORE', KEYS[9], format_turn_4, '(0', 'WITHSCORES', 'LIMIT', 0, 1)
  local again_at = aside[2] and aside[2] + 4503599627370496
  if queue_step > 0 then
   local free_4
   do
    local result_15, result_16
    do
     local tat_8, its_step_5, its_burst_5 = queue_tat, queue_step, queue_burst
     local latest_3 = now_us + its_burst_5 * its_step_5
     tat_8 = math.min(math.max(tat_8, now_us), latest_3)
     result_15, result_16 = math.floor((latest_3 - tat_8) / its_step_5), tat_8
    end
    free_4, queue_tat = result_15, result_16
   end
   if free_4 <= 0 then
    do
     local result_17
     do
      local tat_9, its_step_6, its_burst_6 = queue_tat, queue_step, queue_burst
      result_17 = math.ceil((tat_9 + its_step_6 - its_burst_6 * its_step_6) / 1000)
     end
     again_at = result_17
    end
   end
  end
  if again_at then
   next_due_2 = next_due_2 > 0 and math.min(next_due_2, again_at) or again_at
  end
 end
 local next_due_3 = next_due_2
 if tombstones > 0 then
  do
   local change = -tombstones
   local field_5 = 't:' .. ARGV[5]
   local left_5 = redis.call('HINCRBY', KEYS[16], field_5, change)
   if left_5 > 0 and change > 0 then
    local in_front = redis.call('LLEN', KEYS[5])
    if left_5 >= in_front + redis.call('LLEN', KEYS[4]) then
     redis.call('DEL', KEYS[4], KEYS[5])
     left_5 = 0
    else
     local list_4 = in_front > 0 and KEYS[5] or KEYS[4]
     for __15 = 1, 8 do
      local id_9 = redis.call('LINDEX', list_4, 0)
      if left_5 == 0 or not id_9 or redis.call('HEXISTS', KEYS[2], id_9) == 1 then
       break
      end
      redis.call('LPOP', list_4)
      left_5 = redis.call('HINCRBY', KEYS[16], field_5, -1)
     end
     if left_5 > 500 then
      do
       local ms_6 = now
       redis.call('ZADD', KEYS[20], 'LT', math.min(ms_6, now + 600000), ARGV[5])
      end
     end
    end
   end
   if left_5 <= 0 then
    redis.call('HDEL', KEYS[16], field_5)
   end
  end
 end
 if expired > 0 then
  do
   local count_4 = expired
   local minute_3 = math.floor(now / 60000)
   local field_6 = string.format('%d', minute_3) .. 'x'
   if redis.call('HINCRBY', KEYS[22], field_6, count_4) == count_4 then
    repeat
     if redis.call('HGET', KEYS[22], 'm') == tostring(minute_3) then
      break
     end
     for __16, field_7 in ipairs(redis.call('HKEYS', KEYS[22])) do
      local its_4 = tonumber(string.match(field_7, '^%d+'))
      if its_4 and its_4 <= minute_3 - 10 then
       redis.call('HDEL', KEYS[22], field_7)
      end
     end
     redis.call('HSET', KEYS[22], 'm', minute_3)
     redis.call('EXPIRE', KEYS[22], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[23], '-inf', minute_3 - 10)
     redis.call('ZADD', KEYS[23], minute_3, ARGV[5])
     redis.call('EXPIRE', KEYS[23], 10 * 60)
    until true
   end
  end
  repeat
   if redis.call('EXISTS', KEYS[2]) == 1 then
    break
   end
   redis.call('DEL', KEYS[4], KEYS[5])
   redis.call('HDEL', KEYS[16], 't:' .. ARGV[5], 'h:' .. ARGV[5], 's:' .. ARGV[5], 'l:' .. ARGV[5])
   redis.call('ZREM', KEYS[17], ARGV[5])
   redis.call('ZREM', KEYS[18], ARGV[5])
   if redis.call('EXISTS', KEYS[15]) == 0 and redis.call('HEXISTS', KEYS[16], 'p:' .. ARGV[5]) == 0 then
    redis.call('ZREM', KEYS[19], ARGV[5])
   end
  until true
 end
 if delivered > 0 then
  do
   local unused = redis.call('ZADD', KEYS[18], 'LT', 'CH', lease_end, ARGV[5]) == 1
  end
  count_durations('w', waits)
 end
 repeat
  local total = #event_lines
  local most_4 = tonumber(ARGV[7])
  if total == 0 or most_4 == 0 then
   break
  end
  local added = 0
  for first_4 = 1, total, 64 do
   local last_3 = math.min(first_4 + 64 - 1, total)
   local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first_4, last_3)
   redis.call('XADD', KEYS[24], '*', 't', string.format('%d', now), 'q', ARGV[5], 'n', last_3 - first_4 + 1, 'e', lines)
   added = added + (40 + math.floor(1.2 * (#ARGV[5] + #lines)))
  end
  redis.call('HINCRBY', KEYS[25], math.floor(now / 86400000), total)
  local held = redis.call('HINCRBY', KEYS[25], 'events_bytes', added)
  local full = most_4 < 4 * 1048576 and most_4 / 4 or 1048576
  if held >= full and held - added < full then
   redis.pcall('PUBLISH', KEYS[24], held)
  end
  if held > most_4 / 2 then
   most_4 = tonumber(redis.call('HGET', KEYS[25], 'events_most') or most_4)
  end
  if held > most_4 then
   do
    local most_5, added_2 = most_4 - math.floor(most_4 / 64), added
    local dropped, freed, entries_3, from_2 = 0, 0, 0, '-'
    repeat
     local found_8 = redis.call('XRANGE', KEYS[24], from_2, '+', 'COUNT', 100)
     for __17, entry in ipairs(found_8) do
      if held - freed <= most_5 then
       break
      end
      local fields_2 = entry[2]
      dropped = dropped + tonumber(fields_2[6])
      local event_bytes
      do
       local place_5, lines_2 = fields_2[4], fields_2[8]
       event_bytes = 40 + math.floor(1.2 * (#place_5 + #lines_2))
      end
      freed = freed + event_bytes
      entries_3 = entries_3 + 1
      from_2 = '(' .. entry[1]
     end
    until freed >= added_2 or held - freed <= most_5 or #found_8 < 100
    redis.call('XTRIM', KEYS[24], 'MAXLEN', redis.call('XLEN', KEYS[24]) - entries_3)
    redis.call('HINCRBY', KEYS[25], 'events_bytes', -freed)
    local known_2 = redis.call('HMGET', KEYS[25], 'events_dropped', 'events_dropped_at')
    if known_2[1] and now - tonumber(known_2[2] or 0) >= 86400000 then
     redis.call('HSET', KEYS[25], 'events_dropped_before', known_2[1])
    end
    redis.call('HINCRBY', KEYS[25], 'events_dropped', dropped)
    redis.call('HSET', KEYS[25], 'events_dropped_at', string.format('%d', now))
   end
  end
 until true
 local early = not known_dead and (skipped >= skip_max or bytes >= bytes_max)
 if delivered > 0 then
  if delivered < asked_2 then
   reply_2[3] = next_due_3
   if early then
    reply_2[4] = 1
   else
    do
     local mark_ms_4 = tonumber(ARGV[12])
     if mark_ms_4 > 0 then
      do
       redis.call('ZREMRANGEBYSCORE', KEYS[21], '-inf', now)
       redis.call('ZADD', KEYS[21], 'GT', now + mark_ms_4, ARGV[5])
      end
     end
    end
   end
  end
  reply = reply_2
  break
 end
 if early then
  reply = {
   'more',
   now,
  }
  break
 end
 do
  local mark_ms_5 = tonumber(ARGV[12])
  if mark_ms_5 > 0 then
   do
    redis.call('ZREMRANGEBYSCORE', KEYS[21], '-inf', now)
    redis.call('ZADD', KEYS[21], 'GT', now + mark_ms_5, ARGV[5])
   end
  end
 end
 reply = {
  'none',
  now,
  next_due_3,
 }
until true
local ahead_2 = counts[reply[1]]
if not ahead_2 then
 return reply
end
local counted = asked == 1 and 1 or #reply - ahead_2
local its_5
do
 local left_6, its_ticket_4 = left, its_ticket
 if not left_6 then
  local time_2 = redis.call('TIME')
  left_6, its_ticket_4 = ARGV[1], string.format('%.0f', time_2[1] * 1000000 + time_2[2] + ARGV[2] * 1000)
 end
 do
  local left_7, its_ticket_5 = left_6 - counted, its_ticket_4
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], left_7 .. ' ' .. its_ticket_5, 'PXAT', math.floor(its_ticket_5 / 1000))
 end
 its_5 = its_ticket_4
end
return {
 'counted',
 its_5,
 reply,
 counted,
 counted == free and (left_ms or tonumber(ARGV[2])) or 0,
}
