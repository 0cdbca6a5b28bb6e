--{"name": "limited_publish_once", "purpose": "adds jobs that share their options, each under an id by which a repetition is recognised: a job whose id was used", "keys": ["limit", "jobs", "runs", "results", "expiring", "keys", "ready", "front", "prio", "priorities", "delayed", "retry", "working", "dead", "completed", "flags", "due", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "dependants", "blocked", "grouped", "outgoing", "lines", "turns", "shares"], "args": ["allowance", "interval", "requests", "now_ms", "queue", "channel", "cap", "random", "counter", "delay", "at", "ttl", "tries", "priority", "options", "key", "key_ttl", "mode", "max_wait", "once_ttl"], "rest": true, "replies": ["limited", "counted", "ok", "duplicate", "ttl_short"]}
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
 local function note_places(ids, its_key)
  local number = 140737488355328 + redis.call('HINCRBY', KEYS[16], 'l:' .. ARGV[5], #ids - 1) - #ids
  local band, places, fields = its_key .. string.char(0, 100 - ARGV[14]), {
  }, {
  }
  for i_2 = 2, #ids do
   local place = band .. struct.pack('>I6', number + i_2)
   places[i_2 - 1] = place
   fields[2 * i_2 - 3], fields[2 * i_2 - 2] = ids[i_2], place
  end
  redis.call('HSET', KEYS[10], unpack(fields))
  return places
 end
 local DIGITS = {
  string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
 }
 local event_lines = {
 }
 local function add_jobs(bodies, sizes, due_at, key_is_free)
  local ttl_ms, wait = tonumber(ARGV[12]), tonumber(ARGV[10])
  local due_ms = wait > 0 and now_up + wait or now
  if due_at or ARGV[11] ~= '' then
   due_ms = due_at or tonumber(ARGV[11])
   wait = due_ms - now
  end
  local is_delayed = wait > 0
  if ttl_ms > 0 and wait > ttl_ms then
   return {
    'ttl_short',
   }
  end
  if ARGV[16] ~= '' and not key_is_free then
   local holder
   repeat
    local held = redis.call('HGET', KEYS[6], ARGV[16])
    if not held then
     holder = nil
     break
    end
    local expires, id = struct.unpack('>I6c26', held)
    holder = (expires == 0 or expires > now) and id or nil
   until true
   if holder then
    do
     redis.call('PEXPIRE', KEYS[6], 60000)
     redis.call('PERSIST', KEYS[6])
    end
    return {
     'duplicate',
     holder,
    }
   end
  end
  local expires_2 = ttl_ms > 0 and now + ttl_ms or 0
  local head
  do
   local tries, due_ms_2, options = tonumber(ARGV[13]), is_delayed and due_ms or nil, ARGV[15]
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
  local prefix = time_part .. ARGV[8]
  local line_middle = is_delayed and '\t\t' .. wait .. '\t\t' or '\t\t\t\t'
  local line_end, size = '', -1
  local count, before_first = sizes and #sizes or #bodies, ARGV[9] - 1
  local ids_2, records, new_runs, its_run = {
   'ok',
  }, {
  }, nil, nil
  local is_awaited
  repeat
   if ARGV[16] == '' then
    is_awaited = false
    break
   end
   is_awaited = #redis.call('ZRANGEBYLEX', KEYS[25], '[:' .. ARGV[16] .. '\t', '(:' .. ARGV[16] .. '\n', 'LIMIT', 0, 1) > 0
  until true
  for i_3 = 1, count do
   local counter_part
   do
    local value_3 = before_first + i_3
    local c_3 = value_3 % 32
    value_3 = (value_3 - c_3) / 32
    local b_3 = value_3 % 32
    counter_part = string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
   end
   local id_2 = prefix .. counter_part
   ids_2[i_3 + 1] = id_2
   local its_size = sizes and tonumber(sizes[i_3]) or #bodies[i_3]
   if not sizes then
    records[2 * i_3 - 1], records[2 * i_3] = id_2, head .. bodies[i_3]
   end
   if its_size > 4096 - #head or is_awaited then
    new_runs = new_runs or {
    }
    its_run = its_run or struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, ARGV[13], is_awaited and 4 or 0, expires_2, due_ms, 0, #ARGV[15], ARGV[15], 0, '')
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
   redis.call('HSET', KEYS[2], unpack(records))
  end
  if new_runs then
   redis.call('HSET', KEYS[3], unpack(new_runs))
  end
  if ARGV[16] ~= '' then
   do
    local id_3 = ids_2[2]
    local for_ms = tonumber(ARGV[17])
    redis.call('HSET', KEYS[6], ARGV[16], struct.pack('>I6c26', for_ms > 0 and now + for_ms or 0, id_3))
    if for_ms > 0 then
     repeat
      local expires_3 = now + for_ms
      local field, look_at = 'k:' .. ARGV[5], math.min(expires_3, now + 600000)
      if redis.call('HSETNX', KEYS[16], field, string.format('%.0f 0 0', look_at)) == 1 then
       redis.call('ZADD', KEYS[19], 'LT', math.min(look_at, now + 600000), ARGV[5])
       break
      end
      local at, cursor, earliest = string.match(redis.call('HGET', KEYS[16], field), '^(%d+) (%d+) (%d+)$')
      if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires_3) then
       redis.call('HSET', KEYS[16], field, string.format('%s %s %.0f', at, cursor, expires_3))
      end
     until true
    end
   end
  end
  local value_4 = expires_2 > 0
  if value_4 then
   local expect_expiry
   repeat
    local due_ms_3 = due_ms
    local horizon = redis.call('HGET', KEYS[16], 'h:' .. ARGV[5])
    if horizon and expires_2 >= tonumber(horizon) and due_ms_3 <= expires_2 then
     expect_expiry = horizon
     break
    end
    if horizon or due_ms_3 > expires_2 then
     local members = {
     }
     for i_4 = 2, #ids_2 do
      members[#members + 1] = expires_2
      members[#members + 1] = ids_2[i_4]
     end
     redis.call('ZADD', KEYS[5], unpack(members))
    else
     redis.call('HSET', KEYS[16], 'h:' .. ARGV[5], expires_2)
    end
    do
     redis.call('ZADD', KEYS[19], 'LT', math.min(expires_2, now + 600000), ARGV[5])
    end
    expect_expiry = horizon
   until true
   value_4 = expect_expiry
  end
  local horizon_2 = value_4
  if horizon_2 then
   do
    local size_2, change = redis.call('HLEN', KEYS[2]), #ids_2
    if size_2 % 500 < change then
     do
      local ms = (size_2 > 500 and horizon_2 - 10000 or tonumber(horizon_2))
      redis.call('ZADD', KEYS[19], 'LT', math.min(ms, now + 600000), ARGV[5])
     end
    end
   end
  end
  if not (sizes or horizon_2) then
   do
    if redis.call('HLEN', KEYS[2]) == count then
     redis.call('ZADD', KEYS[18], 0, ARGV[5])
    end
   end
  end
  repeat
   local its_key_2
   repeat
    local options_2 = ARGV[15]
    if options_2 == '' or string.byte(options_2, 7) % 128 < 64 then
     its_key_2 = nil
     break
    end
    its_key_2 = string.sub(options_2, -1 - string.byte(options_2, -1), -2)
   until true
   if not its_key_2 then
    local its_priority = tonumber(ARGV[14])
    if not sizes then
     repeat
      if its_priority == 0 then
       break
      end
      local its_priorities = {
      }
      for i_5 = 2, #ids_2 do
       its_priorities[2 * i_5 - 3], its_priorities[2 * i_5 - 2] = ids_2[i_5], its_priority
      end
      redis.call('HSET', KEYS[10], unpack(its_priorities))
     until true
    end
    if is_delayed then
     break
    end
    if its_priority == 0 then
     redis.call('RPUSH', KEYS[7], unpack(ids_2, 2))
    else
     local free_rank
     repeat
      local band_2 = (100 - its_priority) * 17592186044416
      local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
      local last = redis.call('ZREVRANGEBYSCORE', KEYS[9], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
      free_rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
     until true
     local rank, members_2 = free_rank, {
     }
     for i_6 = 2, #ids_2 do
      members_2[2 * i_6 - 3], members_2[2 * i_6 - 2] = string.format('%.0f', (rank + i_6 - 2)), ids_2[i_6]
     end
     redis.call('ZADD', KEYS[9], unpack(members_2))
    end
    break
   end
   if sizes and is_delayed then
    break
   end
   local places_2, members_3 = sizes and redis.call('HMGET', KEYS[10], unpack(ids_2, 2)) or note_places(ids_2, its_key_2), {
   }
   if is_delayed then
    break
   end
   for i_7 = 2, #ids_2 do
    members_3[2 * i_7 - 3], members_3[2 * i_7 - 2] = 0, places_2[i_7 - 1] .. ids_2[i_7]
   end
   redis.call('ZADD', KEYS[29], unpack(members_3))
   repeat
    local its_key_3 = its_key_2
    local turn_of
    do
     local score = tonumber(redis.call('ZSCORE', KEYS[30], its_key_3) or nil)
     turn_of = score and score >= -4503599627370496 and score or nil
    end
    if turn_of then
     break
    end
    local virtual, _, start
    do
     local raw = redis.call('HMGET', KEYS[31], '', its_key_3)
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
     virtual, _, start = virtual_2, in_work, start_2, tat
    end
    local format_turn
    do
     local score_2 = math.max(virtual, start)
     format_turn = string.format('%.0f', score_2)
    end
    redis.call('ZADD', KEYS[30], format_turn, its_key_3)
   until true
  until true
  if is_delayed then
   local members_4 = {
   }
   for i_8 = 1, count do
    members_4[2 * i_8 - 1], members_4[2 * i_8] = due_ms, ids_2[i_8 + 1]
   end
   redis.call('ZADD', KEYS[11], unpack(members_4))
   do
    local ms_2 = due_ms
    if (redis.call('ZADD', KEYS[17], 'LT', 'CH', ms_2, ARGV[5]) == 1) then
     do
      local is_waited_for
      do
       local mark = redis.call('ZSCORE', KEYS[20], ARGV[5])
       is_waited_for = mark and tonumber(mark) > now
      end
      if is_waited_for then
       redis.call('PUBLISH', ARGV[6], 'due\t' .. ARGV[5] .. '\t' .. ms_2)
      end
     end
    end
   end
  else
   do
    local is_waited_for_2
    do
     local mark_2 = redis.call('ZSCORE', KEYS[20], ARGV[5])
     is_waited_for_2 = mark_2 and tonumber(mark_2) > now
    end
    if is_waited_for_2 then
     redis.call('PUBLISH', ARGV[6], 'ready\t' .. ARGV[5] .. '\t' .. count)
    end
   end
  end
  do
   local minute = math.floor(now / 60000)
   local field_2 = string.format('%d', minute) .. 'p'
   if redis.call('HINCRBY', KEYS[21], field_2, count) == count then
    repeat
     if redis.call('HGET', KEYS[21], 'm') == tostring(minute) then
      break
     end
     for __2, field_3 in ipairs(redis.call('HKEYS', KEYS[21])) do
      local its = tonumber(string.match(field_3, '^%d+'))
      if its and its <= minute - 10 then
       redis.call('HDEL', KEYS[21], field_3)
      end
     end
     redis.call('HSET', KEYS[21], 'm', minute)
     redis.call('EXPIRE', KEYS[21], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[22], '-inf', minute - 10)
     redis.call('ZADD', KEYS[22], minute, ARGV[5])
     redis.call('EXPIRE', KEYS[22], 10 * 60)
    until true
   end
  end
  return ids_2
 end
 local function has_begun(id_4)
  local raw_4 = redis.call('HGET', KEYS[3], id_4)
  return raw_4 and (struct.unpack('>I4', raw_4)) > 0
 end
 local answer, fresh, bodies_2 = {
  'ok',
 }, {
 }, {
 }
 for i_9 = 21, #ARGV, 2 do
  local held_2 = redis.call('HGET', KEYS[6], ARGV[i_9])
  local expires_4, id_5 = 0, ''
  if held_2 then
   expires_4, id_5 = struct.unpack('>I6c26', held_2)
  end
  if expires_4 <= now then
   bodies_2[#bodies_2 + 1] = ARGV[i_9 + 1]
   fresh[#fresh + 1] = i_9
   id_5 = ''
  end
  answer[#answer + 1] = id_5
 end
 if #bodies_2 == 0 then
  do
   redis.call('PEXPIRE', KEYS[6], 60000)
   redis.call('PERSIST', KEYS[6])
  end
  reply = answer
  break
 end
 local added
 if ARGV[18] == '' then
  added = add_jobs(bodies_2)
 else
  do
   local result
   do
    local held_3 = redis.call('HGET', KEYS[6], ARGV[16])
    local replaced, first
    local value_5 = held_3
    if value_5 then
     local is_held
     repeat
      local expires_5, id_6 = struct.unpack('>I6c26', held_3)
      if expires_5 > 0 and expires_5 <= now then
       is_held = nil
       break
      end
      local its_mode = string.sub(held_3, 33, 33)
      if its_mode == '' then
       is_held = id_6
       break
      end
      if redis.call('ZSCORE', KEYS[13], id_6) then
       is_held = its_mode == 'd' and id_6 or nil
       break
      end
      if redis.call('ZSCORE', KEYS[14], id_6) or redis.call('ZSCORE', KEYS[15], id_6) then
       is_held = nil
       break
      end
      local its_expiry
      repeat
       local raw_run = redis.call('HGET', KEYS[3], id_6)
       if raw_run then
        its_expiry = (struct.unpack('>I6', raw_run, 10))
        break
       end
       local raw_5 = redis.call('HGET', KEYS[2], id_6)
       its_expiry = raw_5 and (struct.unpack('>I6', raw_5, 4))
      until true
      local value_6 = not its_expiry
      if not value_6 then
       local has_expired
       do
        local expires_6 = its_expiry
        has_expired = expires_6 > 0 and expires_6 <= now
       end
       value_6 = has_expired
      end
      if value_6 then
       is_held = nil
       break
      end
      is_held = (its_mode == 'd' or not has_begun(id_6)) and id_6 or nil
     until true
     value_5 = is_held
    end
    local holder_2 = value_5
    if holder_2 then
     if ARGV[18] == 'r' and string.sub(held_3, 33, 33) == 'r' and not has_begun(holder_2) then
      replaced, first = holder_2, struct.unpack('>I6', held_3, 34)
     end
    end
    local wait_2, due_at_2 = tonumber(ARGV[10]), nil
    if replaced and tonumber(ARGV[19]) > 0 then
     local latest = first + tonumber(ARGV[19])
     local asked_2 = ARGV[11] ~= '' and tonumber(ARGV[11]) or now + wait_2
     if asked_2 > latest then
      due_at_2 = math.max(now, latest)
     end
    end
    local added_2 = add_jobs(bodies_2, nil, due_at_2, replaced or not holder_2)
    if added_2[1] == 'ok' then
     do
      local id_7, first_2 = added_2[2], first or now
      local for_ms_2 = tonumber(ARGV[17])
      local expires_7 = for_ms_2 > 0 and now + for_ms_2 or 0
      redis.call('HSET', KEYS[6], ARGV[16], struct.pack('>I6c26', expires_7, id_7) .. ARGV[18] .. struct.pack('>I6', first_2))
      repeat
       local expires_8 = now + 600000
       local field_4, look_at_2 = 'k:' .. ARGV[5], math.min(expires_8, now + 600000)
       if redis.call('HSETNX', KEYS[16], field_4, string.format('%.0f 0 0', look_at_2)) == 1 then
        redis.call('ZADD', KEYS[19], 'LT', math.min(look_at_2, now + 600000), ARGV[5])
        break
       end
       local at_2, cursor_2, earliest_2 = string.match(redis.call('HGET', KEYS[16], field_4), '^(%d+) (%d+) (%d+)$')
       if cursor_2 ~= '0' and (earliest_2 == '0' or tonumber(earliest_2) > expires_8) then
        redis.call('HSET', KEYS[16], field_4, string.format('%s %s %.0f', at_2, cursor_2, expires_8))
       end
      until true
     end
     local value_7 = replaced
     if value_7 then
      local remove_job
      repeat
       local id_8 = replaced
       local raw_run_2 = redis.call('HGET', KEYS[3], id_8)
       if redis.call('HDEL', KEYS[2], id_8) == 0 then
        remove_job = nil
        break
       end
       local place_2 = redis.call('HGET', KEYS[10], id_8)
       local zero = (place_2 and string.find(place_2, '%z'))
       redis.call('HDEL', KEYS[3], id_8)
       redis.call('HDEL', KEYS[10], id_8)
       if redis.call('ZREM', KEYS[15], id_8) == 1 then
        redis.call('HDEL', KEYS[4], id_8)
        remove_job = 'was completed'
        break
       end
       if raw_run_2 and (string.byte(raw_run_2, 9) >= 4) then
        do
         local options_3 = (struct.unpack('>Hc0', raw_run_2, 28))
         do
          local message
          do
           local key_of
           repeat
            if options_3 == '' then
             key_of = ''
             break
            end
            local __3, __4, __5, __6, its_key_4 = struct.unpack('>I6BI6I6Hc0', options_3)
            key_of = its_key_4
           until true
           message = 'ended\t' .. ARGV[5] .. '\t' .. id_8 .. '\t' .. 'deleted' .. '\t' .. key_of
          end
          redis.call('ZADD', KEYS[28], now, message)
         end
        end
       end
       if redis.call('ZREM', KEYS[14], id_8) == 1 then
        remove_job = 'was dead'
        break
       end
       if redis.call('ZREM', KEYS[13], id_8) == 1 then
        if zero then
         do
          local its_key_5 = string.sub(place_2, 1, zero - 1)
          local virtual_3, in_work_2, start_3, tat_2
          do
           local raw_6 = redis.call('HMGET', KEYS[31], '', its_key_5)
           local virtual_4
           repeat
            local raw_7 = raw_6[1]
            if not raw_7 then
             virtual_4 = 0, 0, 0
             break
            end
            virtual_4 = struct.unpack('>ddd', raw_7)
           until true
           local in_work_3, start_4, tat_3
           repeat
            local raw_8 = raw_6[2]
            if not raw_8 then
             in_work_3, start_4, tat_3 = 0, 0, 0
             break
            end
            in_work_3, start_4, tat_3 = struct.unpack('>I4dd', raw_8)
           until true
           virtual_3, in_work_2, start_3, tat_2 = virtual_4, in_work_3, start_4, tat_3
          end
          local turn
          do
           local score_3 = tonumber(redis.call('ZSCORE', KEYS[30], its_key_5) or nil)
           turn = score_3 and score_3 >= -4503599627370496 and score_3 or nil
          end
          if turn and turn < 0 then
           turn = math.max(virtual_3, start_3)
          end
          repeat
           local virtual_5, in_work_4, start_5, tat_4, turn_2 = virtual_3, math.max(0, in_work_2 - 1), start_3, tat_2, turn
           redis.call('HDEL', KEYS[31], its_key_5)
           if not turn_2 then
            redis.call('ZREM', KEYS[30], its_key_5)
           end
           if not turn_2 and in_work_4 == 0 then
            local until_ms
            do
             local until_ms_2 = math.max(start_5 > virtual_5 and now + 10000 or 0, math.ceil(tat_4 / 1000))
             until_ms = until_ms_2 > now and until_ms_2 or nil
            end
            if not until_ms then
             break
            end
            turn_2 = until_ms - 9007199254740992
            do
             local ms_3 = until_ms
             redis.call('ZADD', KEYS[19], 'LT', math.min(ms_3, now + 600000), ARGV[5])
            end
           end
           if turn_2 then
            redis.call('ZADD', KEYS[30], string.format('%.0f', turn_2), its_key_5)
           end
           redis.call('HSET', KEYS[31], its_key_5, struct.pack('>I4dd', in_work_4, start_5, tat_4))
          until true
         end
        end
        remove_job = ''
        break
       end
       redis.call('ZREM', KEYS[5], id_8)
       if redis.call('ZREM', KEYS[26], id_8) == 1 then
        do
         do
          local message_2 = ('waits\t' .. ARGV[5] .. '\t' .. id_8)
          redis.call('ZADD', KEYS[28], now, message_2)
         end
        end
        remove_job = ''
        break
       end
       if redis.call('ZREM', KEYS[27], id_8) == 1 then
        remove_job = ''
        break
       end
       if redis.call('ZREM', KEYS[11], id_8) + redis.call('ZREM', KEYS[12], id_8) + redis.call('ZREM', KEYS[9], id_8) == 0 then
        if zero then
         do
          redis.call('ZREM', KEYS[29], place_2 .. id_8)
          repeat
           local its_key_6 = string.sub(place_2, 1, (place_2 and string.find(place_2, '%z')) - 1)
           if #redis.call('ZRANGE', KEYS[29], '[' .. its_key_6 .. '\0', '(' .. its_key_6 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
            break
           end
           local virtual_6, in_work_5, start_6, tat_5
           do
            local raw_9 = redis.call('HMGET', KEYS[31], '', its_key_6)
            local virtual_7
            repeat
             local raw_10 = raw_9[1]
             if not raw_10 then
              virtual_7 = 0, 0, 0
              break
             end
             virtual_7 = struct.unpack('>ddd', raw_10)
            until true
            local in_work_6, start_7, tat_6
            repeat
             local raw_11 = raw_9[2]
             if not raw_11 then
              in_work_6, start_7, tat_6 = 0, 0, 0
              break
             end
             in_work_6, start_7, tat_6 = struct.unpack('>I4dd', raw_11)
            until true
            virtual_6, in_work_5, start_6, tat_5 = virtual_7, in_work_6, start_7, tat_6
           end
           repeat
            local turn_of_2
            do
             local score_4 = tonumber(redis.call('ZSCORE', KEYS[30], its_key_6) or nil)
             turn_of_2 = score_4 and score_4 >= -4503599627370496 and score_4 or nil
            end
            local virtual_8, in_work_7, start_8, tat_7, turn_3 = virtual_6, in_work_5, math.max(start_6, turn_of_2 or 0), tat_5, nil
            redis.call('HDEL', KEYS[31], its_key_6)
            if not turn_3 then
             redis.call('ZREM', KEYS[30], its_key_6)
            end
            if not turn_3 and in_work_7 == 0 then
             local until_ms_3
             do
              local until_ms_4 = math.max(start_8 > virtual_8 and now + 10000 or 0, math.ceil(tat_7 / 1000))
              until_ms_3 = until_ms_4 > now and until_ms_4 or nil
             end
             if not until_ms_3 then
              break
             end
             turn_3 = until_ms_3 - 9007199254740992
             do
              local ms_4 = until_ms_3
              redis.call('ZADD', KEYS[19], 'LT', math.min(ms_4, now + 600000), ARGV[5])
             end
            end
            if turn_3 then
             redis.call('ZADD', KEYS[30], string.format('%.0f', turn_3), its_key_6)
            end
            redis.call('HSET', KEYS[31], its_key_6, struct.pack('>I4dd', in_work_7, start_8, tat_7))
           until true
          until true
         end
        else
         do
          local field_5 = 't:' .. ARGV[5]
          local left_4 = redis.call('HINCRBY', KEYS[16], field_5, 1)
          if left_4 > 0 and 1 > 0 then
           local in_front = redis.call('LLEN', KEYS[8])
           if left_4 >= in_front + redis.call('LLEN', KEYS[7]) then
            redis.call('DEL', KEYS[7], KEYS[8])
            left_4 = 0
           else
            local list = in_front > 0 and KEYS[8] or KEYS[7]
            for __7 = 1, 8 do
             local id_9 = redis.call('LINDEX', list, 0)
             if left_4 == 0 or not id_9 or redis.call('HEXISTS', KEYS[2], id_9) == 1 then
              break
             end
             redis.call('LPOP', list)
             left_4 = redis.call('HINCRBY', KEYS[16], field_5, -1)
            end
            if left_4 > 500 then
             do
              local ms_5 = now
              redis.call('ZADD', KEYS[19], 'LT', math.min(ms_5, now + 600000), ARGV[5])
             end
            end
           end
          end
          if left_4 <= 0 then
           redis.call('HDEL', KEYS[16], field_5)
          end
         end
        end
       end
       remove_job = ''
      until true
      value_7 = remove_job
     end
     if value_7 then
      do
       local id_10 = replaced
       do
        local line_2 = 'deleted' .. '\t' .. id_10 .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
        event_lines[#event_lines + 1] = line_2
       end
      end
     end
    end
    result = added_2
   end
   added = result
  end
 end
 repeat
  local total = #event_lines
  local most = tonumber(ARGV[7])
  if total == 0 or most == 0 then
   break
  end
  local added_3 = 0
  for first_3 = 1, total, 64 do
   local last_2 = math.min(first_3 + 64 - 1, total)
   local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first_3, last_2)
   redis.call('XADD', KEYS[23], '*', 't', string.format('%d', now), 'q', ARGV[5], 'n', last_2 - first_3 + 1, 'e', lines)
   added_3 = added_3 + (40 + math.floor(1.2 * (#ARGV[5] + #lines)))
  end
  redis.call('HINCRBY', KEYS[24], math.floor(now / 86400000), total)
  local held_4 = redis.call('HINCRBY', KEYS[24], 'events_bytes', added_3)
  local full = most < 4 * 1048576 and most / 4 or 1048576
  if held_4 >= full and held_4 - added_3 < full then
   redis.pcall('PUBLISH', KEYS[23], held_4)
  end
  if held_4 > most / 2 then
   most = tonumber(redis.call('HGET', KEYS[24], 'events_most') or most)
  end
  if held_4 > most then
   do
    local most_2, added_4 = most - math.floor(most / 64), added_3
    local dropped, freed, entries, from_2 = 0, 0, 0, '-'
    repeat
     local found = redis.call('XRANGE', KEYS[23], from_2, '+', 'COUNT', 100)
     for __8, entry in ipairs(found) do
      if held_4 - freed <= most_2 then
       break
      end
      local fields_2 = entry[2]
      dropped = dropped + tonumber(fields_2[6])
      local event_bytes
      do
       local place_3, lines_2 = fields_2[4], fields_2[8]
       event_bytes = 40 + math.floor(1.2 * (#place_3 + #lines_2))
      end
      freed = freed + event_bytes
      entries = entries + 1
      from_2 = '(' .. entry[1]
     end
    until freed >= added_4 or held_4 - freed <= most_2 or #found < 100
    redis.call('XTRIM', KEYS[23], 'MAXLEN', redis.call('XLEN', KEYS[23]) - entries)
    redis.call('HINCRBY', KEYS[24], 'events_bytes', -freed)
    local known = redis.call('HMGET', KEYS[24], 'events_dropped', 'events_dropped_at')
    if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
     redis.call('HSET', KEYS[24], 'events_dropped_before', known[1])
    end
    redis.call('HINCRBY', KEYS[24], 'events_dropped', dropped)
    redis.call('HSET', KEYS[24], 'events_dropped_at', string.format('%d', now))
   end
  end
 until true
 if added[1] == 'ttl_short' then
  reply = added
  break
 end
 local until_ms_5 = now + tonumber(ARGV[20])
 local marks = {
 }
 for n, i_10 in ipairs(fresh) do
  local id_11 = added[n + 1]
  answer[(i_10 - 21) / 2 + 2] = id_11
  marks[2 * n - 1], marks[2 * n] = ARGV[i_10], struct.pack('>I6c26', until_ms_5, id_11)
 end
 redis.call('HSET', KEYS[6], unpack(marks))
 repeat
  local field_6, look_at_3 = 'k:' .. ARGV[5], math.min(until_ms_5, now + 600000)
  if redis.call('HSETNX', KEYS[16], field_6, string.format('%.0f 0 0', look_at_3)) == 1 then
   redis.call('ZADD', KEYS[19], 'LT', math.min(look_at_3, now + 600000), ARGV[5])
   break
  end
  local at_3, cursor_3, earliest_3 = string.match(redis.call('HGET', KEYS[16], field_6), '^(%d+) (%d+) (%d+)$')
  if cursor_3 ~= '0' and (earliest_3 == '0' or tonumber(earliest_3) > until_ms_5) then
   redis.call('HSET', KEYS[16], field_6, string.format('%s %s %.0f', at_3, cursor_3, until_ms_5))
  end
 until true
 if added[1] == 'duplicate' then
  reply = added
  break
 end
 reply = answer
until true
local ahead = counts[reply[1]]
if not ahead then
 return reply
end
local counted = asked == 1 and 1 or #reply - ahead
local its_2
do
 local left_5, its_ticket_4 = left, its_ticket
 if not left_5 then
  local time_2 = redis.call('TIME')
  left_5, its_ticket_4 = ARGV[1], string.format('%.0f', time_2[1] * 1000000 + time_2[2] + ARGV[2] * 1000)
 end
 do
  local left_6, its_ticket_5 = left_5 - counted, its_ticket_4
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], left_6 .. ' ' .. its_ticket_5, 'PXAT', math.floor(its_ticket_5 / 1000))
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
