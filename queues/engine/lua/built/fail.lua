--{"name": "fail", "purpose": "ends an attempt without success (edge H): retry after a backoff, ready at once, or dead when the tries are used up.", "keys": ["jobs", "runs", "ready", "prio", "priorities", "retry", "expiring", "working", "dead", "flags", "due", "sweeps", "waiting", "stats", "active", "events", "counters", "batches", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "id", "attempt", "error", "delay", "bury", "fallback"], "rest": false, "replies": ["retry", "ready", "dead", "lost", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function group_of(options)
 if options == '' or string.byte(options, 7) % 64 < 32 then
  return nil
 end
 local size, count, most, delay_max, grace = struct.unpack('>BHHI6I6', options, #options - 17 + 1)
 return string.sub(options, -17 - size, -17 - 1), count, most, delay_max, grace
end
local event_lines = {
}
local named = 0
local value = redis.call('ZSCORE', KEYS[8], ARGV[5])
if value then
 local unpack_run
 do
  local raw = redis.call('HGET', KEYS[2], ARGV[5])
  local attempt, used, tries, marks, expires, due_ms, taken, options_2, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
  unpack_run = {
   attempt = attempt,
   used = used,
   tries = tries,
   marks = marks % 4,
   depended = marks - marks % 4,
   expires = expires,
   due = due_ms,
   taken = taken,
   options = options_2,
   consumer = consumer,
   history = string.sub(raw, at),
  }
 end
 value = unpack_run
end
local run = value
if not run or (ARGV[6] ~= '' and run.attempt ~= tonumber(ARGV[6])) then
 return {
  redis.call('HEXISTS', KEYS[1], ARGV[5]) == 1 and 'lost' or 'missing',
 }
end
redis.call('ZREM', KEYS[8], ARGV[5])
local state, due_ms_2
do
 local id, error, delay, to_dead, fallback = ARGV[5], ARGV[7], ARGV[8] ~= '' and tonumber(ARGV[8]) or nil, ARGV[9] == '1', tonumber(ARGV[10])
 local cancelled = run.marks >= 2
 do
  local error_2 = cancelled and error == '' and 'cancelled' or error
  local history = run.history
  local kept, at_2 = 0, 1
  while at_2 <= #history do
   local _, __2, __3, __4, __5, __6, after = struct.unpack('>I4I6I6BBc0Hc0', history, at_2)
   at_2 = after
   kept = kept + 1
  end
  if kept >= 10 then
   local __7, __8, __9, __10, __11, __12, after_2 = struct.unpack('>I4I6I6BBc0Hc0', history, 1)
   history = string.sub(history, after_2)
  end
  run.history = history .. struct.pack('>I4I6I6BBc0Hc0', run.attempt, run.taken, now, 1, #run.consumer, run.consumer, #error_2, error_2)
 end
 do
  local options_3 = run.options
  local its_key
  repeat
   if options_3 == '' or string.byte(options_3, 7) % 128 < 64 then
    its_key = nil
    break
   end
   its_key = string.sub(options_3, -1 - string.byte(options_3, -1), -2)
  until true
  if its_key then
   do
    local its_key_2 = its_key
    local virtual, in_work, start, tat
    do
     local raw_2 = redis.call('HMGET', KEYS[22], '', its_key_2)
     local virtual_2
     repeat
      local raw_3 = raw_2[1]
      if not raw_3 then
       virtual_2 = 0, 0, 0
       break
      end
      virtual_2 = struct.unpack('>ddd', raw_3)
     until true
     local in_work_2, start_2, tat_2
     repeat
      local raw_4 = raw_2[2]
      if not raw_4 then
       in_work_2, start_2, tat_2 = 0, 0, 0
       break
      end
      in_work_2, start_2, tat_2 = struct.unpack('>I4dd', raw_4)
     until true
     virtual, in_work, start, tat = virtual_2, in_work_2, start_2, tat_2
    end
    local turn
    do
     local score = tonumber(redis.call('ZSCORE', KEYS[21], its_key_2) or nil)
     turn = score and score >= -4503599627370496 and score or nil
    end
    if turn and turn < 0 then
     turn = math.max(virtual, start)
    end
    repeat
     local virtual_3, in_work_3, start_3, tat_3, turn_2 = virtual, math.max(0, in_work - 1), start, tat, turn
     redis.call('HDEL', KEYS[22], its_key_2)
     if not turn_2 then
      redis.call('ZREM', KEYS[21], its_key_2)
     end
     if not turn_2 and in_work_3 == 0 then
      local until_ms
      do
       local until_ms_2 = math.max(start_3 > virtual_3 and now + 10000 or 0, math.ceil(tat_3 / 1000))
       until_ms = until_ms_2 > now and until_ms_2 or nil
      end
      if not until_ms then
       break
      end
      turn_2 = until_ms - 9007199254740992
      do
       local ms = until_ms
       redis.call('ZADD', KEYS[12], 'LT', math.min(ms, now + 600000), ARGV[2])
      end
     end
     if turn_2 then
      redis.call('ZADD', KEYS[21], string.format('%.0f', turn_2), its_key_2)
     end
     redis.call('HSET', KEYS[22], its_key_2, struct.pack('>I4dd', in_work_3, start_3, tat_3))
    until true
   end
  end
 end
 local state_2, due_ms_3 = 'ready', 0
 if to_dead or cancelled or run.used >= run.tries then
  run.marks = run.marks % 2
  state_2 = 'dead'
  redis.call('ZADD', KEYS[9], now, id)
  local unpack_options
  repeat
   local options_4 = run.options
   if options_4 == '' then
    unpack_options = 0, 0, 0, 0
    break
   end
   unpack_options = struct.unpack('>I6BI6I6', options_4)
  until true
  if unpack_options > 0 then
   redis.call('PUBLISH', ARGV[3], 'done\t' .. ARGV[2] .. '\t' .. id)
  end
 else
  if not delay then
   local kind, base, most_2
   repeat
    local options_5, failed = run.options, 1 == 1
    local __13, kind_2, base_2, most_3
    repeat
     if options_5 == '' then
      __13, kind_2, base_2, most_3 = 0, 0, 0, 0
      break
     end
     __13, kind_2, base_2, most_3 = struct.unpack('>I6BI6I6', options_5)
    until true
    if kind_2 >= 128 and not failed then
     kind, base, most_2 = 0, 0, 0
     break
    end
    kind, base, most_2 = kind_2 % 32, base_2, most_3
   until true
   do
    local result
    repeat
     local kind_3, base_3, cap, n = kind, base, most_2, math.max(1, run.used)
     local least, most_4
     repeat
      if kind_3 == 0 then
       least, most_4 = 0, 0
       break
      end
      if kind_3 == 1 then
       least, most_4 = base_3, base_3
       break
      end
      if kind_3 == 2 then
       local delay_2 = math.min(base_3 * n, 4294967295000)
       least, most_4 = delay_2, delay_2
       break
      end
      if kind_3 == 3 then
       local full = math.min(cap, base_3 * 2 ^ math.min(n - 1, 63))
       least, most_4 = full / 2, full
       break
      end
      local retries = n - 1
      local least_2 = math.min((retries ^ 4 + 15) * 1000, 4294967295000)
      least, most_4 = least_2, math.min(least_2 + 30000 * (retries + 1), 4294967295000)
     until true
     if least == most_4 then
      result = least
      break
     end
     do
      local sum = redis.call('TIME')[2] + 0
      for i = 11, #id do
       sum = sum * 257 % 2147483647 + string.byte(id, i)
      end
      math.randomseed(sum)
     end
     result = math.floor(least + math.random() * (most_4 - least))
    until true
    delay = result
   end
   if delay == 0 and fallback then
    delay = fallback
   end
  end
  run.due = now
  if delay > 0 then
   state_2, due_ms_3 = 'retry', now_up + delay
   run.due = due_ms_3
   redis.call('ZADD', KEYS[6], due_ms_3, id)
  else
   do
    local place = redis.call('HGET', KEYS[5], id)
    if (place and string.find(place, '%z')) then
     do
      local place_2 = place
      local zero
      do
       local place_3 = place_2
       zero = place_3 and string.find(place_3, '%z')
      end
      local band, number = string.sub(place_2, 1, zero + 1), nil
      number = number or 140737488355328 + redis.call('HINCRBY', KEYS[10], 'l:' .. ARGV[2], 1)
      place_2 = band .. struct.pack('>I6', number)
      redis.call('HSET', KEYS[5], id, place_2)
      redis.call('ZADD', KEYS[20], 0, place_2 .. id)
      repeat
       local its_key_3 = string.sub(place_2, 1, zero - 1)
       local turn_of
       do
        local score_2 = tonumber(redis.call('ZSCORE', KEYS[21], its_key_3) or nil)
        turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
       end
       if turn_of then
        break
       end
       local virtual_4, __14, start_4
       do
        local raw_5 = redis.call('HMGET', KEYS[22], '', its_key_3)
        local virtual_5
        repeat
         local raw_6 = raw_5[1]
         if not raw_6 then
          virtual_5 = 0, 0, 0
          break
         end
         virtual_5 = struct.unpack('>ddd', raw_6)
        until true
        local in_work_4, start_5, tat_4
        repeat
         local raw_7 = raw_5[2]
         if not raw_7 then
          in_work_4, start_5, tat_4 = 0, 0, 0
          break
         end
         in_work_4, start_5, tat_4 = struct.unpack('>I4dd', raw_7)
        until true
        virtual_4, __14, start_4 = virtual_5, in_work_4, start_5, tat_4
       end
       local format_turn
       do
        local score_3 = math.max(virtual_4, start_4)
        format_turn = string.format('%.0f', score_3)
       end
       redis.call('ZADD', KEYS[21], format_turn, its_key_3)
      until true
     end
    else
     do
      local priority = tonumber(place or 0)
      if priority == 0 then
       redis.call('RPUSH', KEYS[3], id)
      else
       local format_rank
       do
        local rank
        repeat
         local band_2 = (100 - priority) * 17592186044416
         local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
         local last = redis.call('ZREVRANGEBYSCORE', KEYS[4], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
         rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
        until true
        format_rank = string.format('%.0f', rank)
       end
       redis.call('ZADD', KEYS[4], format_rank, id)
      end
     end
    end
   end
  end
 end
 redis.call('HSET', KEYS[2], id, (struct.pack('>I4HHBI6I6I6Hc0Bc0', run.attempt, run.used, math.min(run.tries, 65535), run.marks + run.depended, run.expires, run.due, run.taken, #run.options, run.options, #run.consumer, run.consumer) .. run.history))
 if state_2 == 'dead' and run.depended > 0 then
  do
   local options_6 = run.options
   do
    local message
    do
     local key_of
     repeat
      if options_6 == '' then
       key_of = ''
       break
      end
      local __15, __16, __17, __18, its_key_4 = struct.unpack('>I6BI6I6Hc0', options_6)
      key_of = its_key_4
     until true
     message = 'ended\t' .. ARGV[2] .. '\t' .. id .. '\t' .. 'dead' .. '\t' .. key_of
    end
    redis.call('ZADD', KEYS[19], now, message)
   end
  end
 end
 if state_2 ~= 'dead' and run.expires > 0 then
  repeat
   local expires_2, due_ms_4, ids = run.expires, run.due, {
    id,
   }
   local horizon = redis.call('HGET', KEYS[10], 'h:' .. ARGV[2])
   if horizon and expires_2 >= tonumber(horizon) and due_ms_4 <= expires_2 then
    break
   end
   if horizon or due_ms_4 > expires_2 then
    local members = {
    }
    for i_2 = 1, #ids do
     members[#members + 1] = expires_2
     members[#members + 1] = ids[i_2]
    end
    redis.call('ZADD', KEYS[7], unpack(members))
   else
    redis.call('HSET', KEYS[10], 'h:' .. ARGV[2], expires_2)
   end
   do
    redis.call('ZADD', KEYS[12], 'LT', math.min(expires_2, now + 600000), ARGV[2])
   end
  until true
 end
 state, due_ms_2 = state_2, due_ms_3
end
local line = string.gsub(string.sub(ARGV[7], 1, 200), '%c', ' ')
local subjects_of
repeat
 local id_2, options_7 = ARGV[5], run.options
 local its = named < 2000 and group_of(options_7) and redis.call('HGET', KEYS[18], id_2)
 if not its then
  subjects_of = {
   id_2,
  }
  break
 end
 local ids_2 = {
 }
 for place_4 = 2, #its, 26 do
  ids_2[#ids_2 + 1] = string.sub(its, place_4, place_4 + 25)
 end
 named = named + #ids_2
 subjects_of = ids_2
until true
local weight_in
repeat
 local options_8 = run.options
 if options_8 == '' or string.byte(options_8, 7) % 64 < 32 then
  weight_in = 1
  break
 end
 local count_2 = struct.unpack('>H', options_8, #options_8 - 17 + 2)
 weight_in = math.max(1, count_2)
until true
local subjects, weight = subjects_of, weight_in
for __19, subject in ipairs(subjects) do
 do
  local attempt_2, run_2, worker = run.attempt, math.max(0, now - run.taken), run.consumer
  do
   local line_2 = 'failed' .. '\t' .. subject .. '\t' .. attempt_2 .. '\t\t' .. run_2 .. '\t\t' .. worker .. '\t' .. line
   event_lines[#event_lines + 1] = line_2
  end
 end
end
if state == 'dead' then
 for __20, subject_2 in ipairs(subjects) do
  do
   local attempt_3, worker_2 = run.attempt, run.consumer
   do
    local line_3 = 'dead' .. '\t' .. subject_2 .. '\t' .. attempt_3 .. '\t\t' .. '' .. '\t\t' .. worker_2 .. '\t' .. line
    event_lines[#event_lines + 1] = line_3
   end
  end
 end
elseif state == 'retry' then
 do
  local ms_2 = due_ms_2
  if (redis.call('ZADD', KEYS[11], 'LT', 'CH', ms_2, ARGV[2]) == 1) then
   do
    local is_waited_for
    do
     local mark = redis.call('ZSCORE', KEYS[13], ARGV[2])
     is_waited_for = mark and tonumber(mark) > now
    end
    if is_waited_for then
     redis.call('PUBLISH', ARGV[3], 'due\t' .. ARGV[2] .. '\t' .. ms_2)
    end
   end
  end
 end
end
if state == 'ready' or (redis.call('EXISTS', KEYS[3], KEYS[4], KEYS[20]) > 0) then
 do
  local is_waited_for_2
  do
   local mark_2 = redis.call('ZSCORE', KEYS[13], ARGV[2])
   is_waited_for_2 = mark_2 and tonumber(mark_2) > now
  end
  if is_waited_for_2 then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. 1)
  end
 end
end
do
 local minute = math.floor(now / 60000)
 local field = string.format('%d', minute) .. 'f'
 if redis.call('HINCRBY', KEYS[14], field, weight) == weight then
  repeat
   if redis.call('HGET', KEYS[14], 'm') == tostring(minute) then
    break
   end
   for __21, field_2 in ipairs(redis.call('HKEYS', KEYS[14])) do
    local its_2 = tonumber(string.match(field_2, '^%d+'))
    if its_2 and its_2 <= minute - 10 then
     redis.call('HDEL', KEYS[14], field_2)
    end
   end
   redis.call('HSET', KEYS[14], 'm', minute)
   redis.call('EXPIRE', KEYS[14], 10 * 60)
   redis.call('ZREMRANGEBYSCORE', KEYS[15], '-inf', minute - 10)
   redis.call('ZADD', KEYS[15], minute, ARGV[2])
   redis.call('EXPIRE', KEYS[15], 10 * 60)
  until true
 end
end
if state == 'dead' then
 do
  local minute_2 = math.floor(now / 60000)
  local field_3 = string.format('%d', minute_2) .. 'd'
  if redis.call('HINCRBY', KEYS[14], field_3, weight) == weight then
   repeat
    if redis.call('HGET', KEYS[14], 'm') == tostring(minute_2) then
     break
    end
    for __22, field_4 in ipairs(redis.call('HKEYS', KEYS[14])) do
     local its_3 = tonumber(string.match(field_4, '^%d+'))
     if its_3 and its_3 <= minute_2 - 10 then
      redis.call('HDEL', KEYS[14], field_4)
     end
    end
    redis.call('HSET', KEYS[14], 'm', minute_2)
    redis.call('EXPIRE', KEYS[14], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[15], '-inf', minute_2 - 10)
    redis.call('ZADD', KEYS[15], minute_2, ARGV[2])
    redis.call('EXPIRE', KEYS[15], 10 * 60)
   until true
  end
 end
end
repeat
 local total = #event_lines
 local most_5 = tonumber(ARGV[4])
 if total == 0 or most_5 == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[16], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[17], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[17], 'events_bytes', added)
 local full_2 = most_5 < 4 * 1048576 and most_5 / 4 or 1048576
 if held >= full_2 and held - added < full_2 then
  redis.pcall('PUBLISH', KEYS[16], held)
 end
 if held > most_5 / 2 then
  most_5 = tonumber(redis.call('HGET', KEYS[17], 'events_most') or most_5)
 end
 if held > most_5 then
  do
   local most_6, added_2 = most_5 - math.floor(most_5 / 64), added
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[16], from_2, '+', 'COUNT', 100)
    for __23, entry in ipairs(found) do
     if held - freed <= most_6 then
      break
     end
     local fields = entry[2]
     dropped = dropped + tonumber(fields[6])
     local event_bytes
     do
      local place_5, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place_5 + #lines_2))
     end
     freed = freed + event_bytes
     entries = entries + 1
     from_2 = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_6 or #found < 100
   redis.call('XTRIM', KEYS[16], 'MAXLEN', redis.call('XLEN', KEYS[16]) - entries)
   redis.call('HINCRBY', KEYS[17], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[17], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[17], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[17], 'events_dropped', dropped)
   redis.call('HSET', KEYS[17], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 state,
 due_ms_2,
 state == 'dead' and run.depended > 0 and 1 or 0,
}
