--{"name": "republish", "purpose": "deletes a job, whatever its state, and publishes a body as a new job instead (edge M, then A or B).", "keys": ["jobs", "keys", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "expiring", "working", "dead", "completed", "flags", "due", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "dependants", "blocked", "grouped", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "random", "counter", "delay", "at", "ttl", "tries", "priority", "options", "key", "key_ttl", "old", "body"], "rest": false, "replies": ["ok", "duplicate", "ttl_short"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function note_places(ids, its_key)
 local number = 140737488355328 + redis.call('HINCRBY', KEYS[15], 'l:' .. ARGV[2], #ids - 1) - #ids
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
local event_lines = {
}
local added
repeat
 local bodies = {
  ARGV[16],
 }
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
   local held = redis.call('HGET', KEYS[2], ARGV[13])
   if not held then
    holder = nil
    break
   end
   local expires, id = struct.unpack('>I6c26', held)
   holder = (expires == 0 or expires > now) and id or nil
  until true
  if holder then
   do
    redis.call('PEXPIRE', KEYS[2], 60000)
    redis.call('PERSIST', KEYS[2])
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
 local prefix = time_part .. ARGV[5]
 local line_middle = is_delayed and '\t\t' .. wait .. '\t\t' or '\t\t\t\t'
 local line_end, size = '', -1
 local count, before_first = (#bodies), ARGV[6] - 1
 local ids_2, records, new_runs, its_run = {
  'ok',
 }, {
 }, nil, nil
 local is_awaited
 repeat
  if ARGV[13] == '' then
   is_awaited = false
   break
  end
  is_awaited = #redis.call('ZRANGEBYLEX', KEYS[24], '[:' .. ARGV[13] .. '\t', '(:' .. ARGV[13] .. '\n', 'LIMIT', 0, 1) > 0
 until true
 for i_2 = 1, count do
  local counter_part
  do
   local value_3 = before_first + i_2
   local c_3 = value_3 % 32
   value_3 = (value_3 - c_3) / 32
   local b_3 = value_3 % 32
   counter_part = string.char(DIGITS[(value_3 - b_3) / 32 + 1], DIGITS[b_3 + 1], DIGITS[c_3 + 1])
  end
  local id_2 = prefix .. counter_part
  ids_2[i_2 + 1] = id_2
  local its_size = (#bodies[i_2])
  do
   records[2 * i_2 - 1], records[2 * i_2] = id_2, head .. bodies[i_2]
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
 do
  redis.call('HSET', KEYS[1], unpack(records))
 end
 if new_runs then
  redis.call('HSET', KEYS[3], unpack(new_runs))
 end
 if ARGV[13] ~= '' then
  do
   local id_3 = ids_2[2]
   local for_ms = tonumber(ARGV[14])
   redis.call('HSET', KEYS[2], ARGV[13], struct.pack('>I6c26', for_ms > 0 and now + for_ms or 0, id_3))
   if for_ms > 0 then
    repeat
     local expires_3 = now + for_ms
     local field, look_at = 'k:' .. ARGV[2], math.min(expires_3, now + 600000)
     if redis.call('HSETNX', KEYS[15], field, string.format('%.0f 0 0', look_at)) == 1 then
      redis.call('ZADD', KEYS[18], 'LT', math.min(look_at, now + 600000), ARGV[2])
      break
     end
     local at, cursor, earliest = string.match(redis.call('HGET', KEYS[15], field), '^(%d+) (%d+) (%d+)$')
     if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires_3) then
      redis.call('HSET', KEYS[15], field, string.format('%s %s %.0f', at, cursor, expires_3))
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
   local horizon = redis.call('HGET', KEYS[15], 'h:' .. ARGV[2])
   if horizon and expires_2 >= tonumber(horizon) and due_ms_3 <= expires_2 then
    expect_expiry = horizon
    break
   end
   if horizon or due_ms_3 > expires_2 then
    local members = {
    }
    for i_3 = 2, #ids_2 do
     members[#members + 1] = expires_2
     members[#members + 1] = ids_2[i_3]
    end
    redis.call('ZADD', KEYS[11], unpack(members))
   else
    redis.call('HSET', KEYS[15], 'h:' .. ARGV[2], expires_2)
   end
   do
    redis.call('ZADD', KEYS[18], 'LT', math.min(expires_2, now + 600000), ARGV[2])
   end
   expect_expiry = horizon
  until true
  value_4 = expect_expiry
 end
 local horizon_2 = value_4
 if horizon_2 then
  do
   local size_2, change = redis.call('HLEN', KEYS[1]), #ids_2
   if size_2 % 500 < change then
    do
     local ms = (size_2 > 500 and horizon_2 - 10000 or tonumber(horizon_2))
     redis.call('ZADD', KEYS[18], 'LT', math.min(ms, now + 600000), ARGV[2])
    end
   end
  end
 end
 if not (horizon_2) then
  do
   if redis.call('HLEN', KEYS[1]) == count then
    redis.call('ZADD', KEYS[17], 0, ARGV[2])
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
   do
    repeat
     if its_priority == 0 then
      break
     end
     local its_priorities = {
     }
     for i_4 = 2, #ids_2 do
      its_priorities[2 * i_4 - 3], its_priorities[2 * i_4 - 2] = ids_2[i_4], its_priority
     end
     redis.call('HSET', KEYS[8], unpack(its_priorities))
    until true
   end
   if is_delayed then
    break
   end
   if its_priority == 0 then
    redis.call('RPUSH', KEYS[5], unpack(ids_2, 2))
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
    for i_5 = 2, #ids_2 do
     members_2[2 * i_5 - 3], members_2[2 * i_5 - 2] = string.format('%.0f', (rank + i_5 - 2)), ids_2[i_5]
    end
    redis.call('ZADD', KEYS[7], unpack(members_2))
   end
   break
  end
  local places_2, members_3 = (note_places(ids_2, its_key_2)), {
  }
  if is_delayed then
   break
  end
  for i_6 = 2, #ids_2 do
   members_3[2 * i_6 - 3], members_3[2 * i_6 - 2] = 0, places_2[i_6 - 1] .. ids_2[i_6]
  end
  redis.call('ZADD', KEYS[28], unpack(members_3))
  repeat
   local its_key_3 = its_key_2
   local turn_of
   do
    local score = tonumber(redis.call('ZSCORE', KEYS[29], its_key_3) or nil)
    turn_of = score and score >= -4503599627370496 and score or nil
   end
   if turn_of then
    break
   end
   local virtual, _, start
   do
    local raw = redis.call('HMGET', KEYS[30], '', its_key_3)
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
   redis.call('ZADD', KEYS[29], format_turn, its_key_3)
  until true
 until true
 if is_delayed then
  local members_4 = {
  }
  for i_7 = 1, count do
   members_4[2 * i_7 - 1], members_4[2 * i_7] = due_ms, ids_2[i_7 + 1]
  end
  redis.call('ZADD', KEYS[9], unpack(members_4))
  do
   local ms_2 = due_ms
   if (redis.call('ZADD', KEYS[16], 'LT', 'CH', ms_2, ARGV[2]) == 1) then
    do
     local is_waited_for
     do
      local mark = redis.call('ZSCORE', KEYS[19], ARGV[2])
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
    local mark_2 = redis.call('ZSCORE', KEYS[19], ARGV[2])
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
  if redis.call('HINCRBY', KEYS[20], field_2, count) == count then
   repeat
    if redis.call('HGET', KEYS[20], 'm') == tostring(minute) then
     break
    end
    for __2, field_3 in ipairs(redis.call('HKEYS', KEYS[20])) do
     local its = tonumber(string.match(field_3, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[20], field_3)
     end
    end
    redis.call('HSET', KEYS[20], 'm', minute)
    redis.call('EXPIRE', KEYS[20], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[21], '-inf', minute - 10)
    redis.call('ZADD', KEYS[21], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[21], 10 * 60)
   until true
  end
 end
 added = ids_2
until true
local value_5 = added[1] == 'ok'
if value_5 then
 local remove_job
 repeat
  local id_4 = ARGV[15]
  local raw_run = redis.call('HGET', KEYS[3], id_4)
  if redis.call('HDEL', KEYS[1], id_4) == 0 then
   remove_job = nil
   break
  end
  local place_2 = redis.call('HGET', KEYS[8], id_4)
  local zero = (place_2 and string.find(place_2, '%z'))
  redis.call('HDEL', KEYS[3], id_4)
  redis.call('HDEL', KEYS[8], id_4)
  if redis.call('ZREM', KEYS[14], id_4) == 1 then
   redis.call('HDEL', KEYS[4], id_4)
   remove_job = 'was completed'
   break
  end
  if raw_run and (string.byte(raw_run, 9) >= 4) then
   do
    local options_3 = (struct.unpack('>Hc0', raw_run, 28))
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
      message = 'ended\t' .. ARGV[2] .. '\t' .. id_4 .. '\t' .. 'deleted' .. '\t' .. key_of
     end
     redis.call('ZADD', KEYS[27], now, message)
    end
   end
  end
  if redis.call('ZREM', KEYS[13], id_4) == 1 then
   remove_job = 'was dead'
   break
  end
  if redis.call('ZREM', KEYS[12], id_4) == 1 then
   if zero then
    do
     local its_key_5 = string.sub(place_2, 1, zero - 1)
     local virtual_3, in_work_2, start_3, tat_2
     do
      local raw_4 = redis.call('HMGET', KEYS[30], '', its_key_5)
      local virtual_4
      repeat
       local raw_5 = raw_4[1]
       if not raw_5 then
        virtual_4 = 0, 0, 0
        break
       end
       virtual_4 = struct.unpack('>ddd', raw_5)
      until true
      local in_work_3, start_4, tat_3
      repeat
       local raw_6 = raw_4[2]
       if not raw_6 then
        in_work_3, start_4, tat_3 = 0, 0, 0
        break
       end
       in_work_3, start_4, tat_3 = struct.unpack('>I4dd', raw_6)
      until true
      virtual_3, in_work_2, start_3, tat_2 = virtual_4, in_work_3, start_4, tat_3
     end
     local turn
     do
      local score_3 = tonumber(redis.call('ZSCORE', KEYS[29], its_key_5) or nil)
      turn = score_3 and score_3 >= -4503599627370496 and score_3 or nil
     end
     if turn and turn < 0 then
      turn = math.max(virtual_3, start_3)
     end
     repeat
      local virtual_5, in_work_4, start_5, tat_4, turn_2 = virtual_3, math.max(0, in_work_2 - 1), start_3, tat_2, turn
      redis.call('HDEL', KEYS[30], its_key_5)
      if not turn_2 then
       redis.call('ZREM', KEYS[29], its_key_5)
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
        redis.call('ZADD', KEYS[18], 'LT', math.min(ms_3, now + 600000), ARGV[2])
       end
      end
      if turn_2 then
       redis.call('ZADD', KEYS[29], string.format('%.0f', turn_2), its_key_5)
      end
      redis.call('HSET', KEYS[30], its_key_5, struct.pack('>I4dd', in_work_4, start_5, tat_4))
     until true
    end
   end
   remove_job = ''
   break
  end
  redis.call('ZREM', KEYS[11], id_4)
  if redis.call('ZREM', KEYS[25], id_4) == 1 then
   do
    do
     local message_2 = ('waits\t' .. ARGV[2] .. '\t' .. id_4)
     redis.call('ZADD', KEYS[27], now, message_2)
    end
   end
   remove_job = ''
   break
  end
  if redis.call('ZREM', KEYS[26], id_4) == 1 then
   remove_job = ''
   break
  end
  if redis.call('ZREM', KEYS[9], id_4) + redis.call('ZREM', KEYS[10], id_4) + redis.call('ZREM', KEYS[7], id_4) == 0 then
   if zero then
    do
     redis.call('ZREM', KEYS[28], place_2 .. id_4)
     repeat
      local its_key_6 = string.sub(place_2, 1, (place_2 and string.find(place_2, '%z')) - 1)
      if #redis.call('ZRANGE', KEYS[28], '[' .. its_key_6 .. '\0', '(' .. its_key_6 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
       break
      end
      local virtual_6, in_work_5, start_6, tat_5
      do
       local raw_7 = redis.call('HMGET', KEYS[30], '', its_key_6)
       local virtual_7
       repeat
        local raw_8 = raw_7[1]
        if not raw_8 then
         virtual_7 = 0, 0, 0
         break
        end
        virtual_7 = struct.unpack('>ddd', raw_8)
       until true
       local in_work_6, start_7, tat_6
       repeat
        local raw_9 = raw_7[2]
        if not raw_9 then
         in_work_6, start_7, tat_6 = 0, 0, 0
         break
        end
        in_work_6, start_7, tat_6 = struct.unpack('>I4dd', raw_9)
       until true
       virtual_6, in_work_5, start_6, tat_5 = virtual_7, in_work_6, start_7, tat_6
      end
      repeat
       local turn_of_2
       do
        local score_4 = tonumber(redis.call('ZSCORE', KEYS[29], its_key_6) or nil)
        turn_of_2 = score_4 and score_4 >= -4503599627370496 and score_4 or nil
       end
       local virtual_8, in_work_7, start_8, tat_7, turn_3 = virtual_6, in_work_5, math.max(start_6, turn_of_2 or 0), tat_5, nil
       redis.call('HDEL', KEYS[30], its_key_6)
       if not turn_3 then
        redis.call('ZREM', KEYS[29], its_key_6)
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
         redis.call('ZADD', KEYS[18], 'LT', math.min(ms_4, now + 600000), ARGV[2])
        end
       end
       if turn_3 then
        redis.call('ZADD', KEYS[29], string.format('%.0f', turn_3), its_key_6)
       end
       redis.call('HSET', KEYS[30], its_key_6, struct.pack('>I4dd', in_work_7, start_8, tat_7))
      until true
     until true
    end
   else
    do
     local field_4 = 't:' .. ARGV[2]
     local left = redis.call('HINCRBY', KEYS[15], field_4, 1)
     if left > 0 and 1 > 0 then
      local in_front = redis.call('LLEN', KEYS[6])
      if left >= in_front + redis.call('LLEN', KEYS[5]) then
       redis.call('DEL', KEYS[5], KEYS[6])
       left = 0
      else
       local list = in_front > 0 and KEYS[6] or KEYS[5]
       for __7 = 1, 8 do
        local id_5 = redis.call('LINDEX', list, 0)
        if left == 0 or not id_5 or redis.call('HEXISTS', KEYS[1], id_5) == 1 then
         break
        end
        redis.call('LPOP', list)
        left = redis.call('HINCRBY', KEYS[15], field_4, -1)
       end
       if left > 500 then
        do
         local ms_5 = now
         redis.call('ZADD', KEYS[18], 'LT', math.min(ms_5, now + 600000), ARGV[2])
        end
       end
      end
     end
     if left <= 0 then
      redis.call('HDEL', KEYS[15], field_4)
     end
    end
   end
  end
  remove_job = ''
 until true
 value_5 = remove_job
end
local ended = value_5
if ended then
 do
  do
   local line_2 = 'deleted' .. '\t' .. ARGV[15] .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ended
   event_lines[#event_lines + 1] = line_2
  end
 end
end
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
  redis.call('XADD', KEYS[22], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added_2 = added_2 + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[23], math.floor(now / 86400000), total)
 local held_2 = redis.call('HINCRBY', KEYS[23], 'events_bytes', added_2)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held_2 >= full and held_2 - added_2 < full then
  redis.pcall('PUBLISH', KEYS[22], held_2)
 end
 if held_2 > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[23], 'events_most') or most)
 end
 if held_2 > most then
  do
   local most_2, added_3 = most - math.floor(most / 64), added_2
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[22], from_2, '+', 'COUNT', 100)
    for __8, entry in ipairs(found) do
     if held_2 - freed <= most_2 then
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
   until freed >= added_3 or held_2 - freed <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[22], 'MAXLEN', redis.call('XLEN', KEYS[22]) - entries)
   redis.call('HINCRBY', KEYS[23], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[23], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[23], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[23], 'events_dropped', dropped)
   redis.call('HSET', KEYS[23], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return added
