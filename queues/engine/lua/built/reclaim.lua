--{"name": "reclaim", "purpose": "takes back jobs of one queue whose lease ran out (edge I): ready at once, retry if they have a backoff, dead", "keys": ["runs", "ready", "prio", "priorities", "retry", "expiring", "working", "dead", "completed", "flags", "due", "ends", "sweeps", "waiting", "stats", "active", "events", "counters", "batches", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "limit"], "rest": false, "replies": ["ok"]}
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
local ids = redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', now, 'LIMIT', 0, ARGV[5])
local to_ready, to_dead, earliest = 0, 0, nil
local taken_back, ended, buried = 0, 0, 0
for _, id in ipairs(ids) do
 if named >= 2000 / 2 then
  break
 end
 taken_back = taken_back + 1
 redis.call('ZREM', KEYS[7], id)
 local run
 do
  local raw = redis.call('HGET', KEYS[1], id)
  local attempt, used, tries, marks, expires, due_ms, taken, options_2, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
  run = {
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
 local reason = run.marks >= 2 and 'cancelled' or 'lease lost'
 local state, due_ms_2
 do
  local run_2, delay = run, nil
  local cancelled = run_2.marks >= 2
  do
   local error = cancelled and '' == '' and 'cancelled' or ''
   local history = run_2.history
   local kept, at_2 = 0, 1
   while at_2 <= #history do
    local __2, __3, __4, __5, __6, __7, after = struct.unpack('>I4I6I6BBc0Hc0', history, at_2)
    at_2 = after
    kept = kept + 1
   end
   if kept >= 10 then
    local __8, __9, __10, __11, __12, __13, after_2 = struct.unpack('>I4I6I6BBc0Hc0', history, 1)
    history = string.sub(history, after_2)
   end
   run_2.history = history .. struct.pack('>I4I6I6BBc0Hc0', run_2.attempt, run_2.taken, now, 2, #run_2.consumer, run_2.consumer, #error, error)
  end
  do
   local options_3 = run_2.options
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
      local raw_2 = redis.call('HMGET', KEYS[23], '', its_key_2)
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
      local score = tonumber(redis.call('ZSCORE', KEYS[22], its_key_2) or nil)
      turn = score and score >= -4503599627370496 and score or nil
     end
     if turn and turn < 0 then
      turn = math.max(virtual, start)
     end
     repeat
      local virtual_3, in_work_3, start_3, tat_3, turn_2 = virtual, math.max(0, in_work - 1), start, tat, turn
      redis.call('HDEL', KEYS[23], its_key_2)
      if not turn_2 then
       redis.call('ZREM', KEYS[22], its_key_2)
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
        redis.call('ZADD', KEYS[13], 'LT', math.min(ms, now + 600000), ARGV[2])
       end
      end
      if turn_2 then
       redis.call('ZADD', KEYS[22], string.format('%.0f', turn_2), its_key_2)
      end
      redis.call('HSET', KEYS[23], its_key_2, struct.pack('>I4dd', in_work_3, start_3, tat_3))
     until true
    end
   end
  end
  local state_2, due_ms_3 = 'ready', 0
  if (cancelled) or run_2.used >= run_2.tries then
   run_2.marks = run_2.marks % 2
   state_2 = 'dead'
   redis.call('ZADD', KEYS[8], now, id)
   local unpack_options
   repeat
    local options_4 = run_2.options
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
     local options_5, failed = run_2.options, 2 == 1
     local __14, kind_2, base_2, most_3
     repeat
      if options_5 == '' then
       __14, kind_2, base_2, most_3 = 0, 0, 0, 0
       break
      end
      __14, kind_2, base_2, most_3 = struct.unpack('>I6BI6I6', options_5)
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
      local kind_3, base_3, cap, n = kind, base, most_2, math.max(1, run_2.used)
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
    if delay == 0 and nil then
     delay = nil
    end
   end
   run_2.due = now
   if delay > 0 then
    state_2, due_ms_3 = 'retry', now_up + delay
    run_2.due = due_ms_3
    redis.call('ZADD', KEYS[5], due_ms_3, id)
   else
    do
     local place = redis.call('HGET', KEYS[4], id)
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
       redis.call('HSET', KEYS[4], id, place_2)
       redis.call('ZADD', KEYS[21], 0, place_2 .. id)
       repeat
        local its_key_3 = string.sub(place_2, 1, zero - 1)
        local turn_of
        do
         local score_2 = tonumber(redis.call('ZSCORE', KEYS[22], its_key_3) or nil)
         turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
        end
        if turn_of then
         break
        end
        local virtual_4, __15, start_4
        do
         local raw_5 = redis.call('HMGET', KEYS[23], '', its_key_3)
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
         virtual_4, __15, start_4 = virtual_5, in_work_4, start_5, tat_4
        end
        local format_turn
        do
         local score_3 = math.max(virtual_4, start_4)
         format_turn = string.format('%.0f', score_3)
        end
        redis.call('ZADD', KEYS[22], format_turn, its_key_3)
       until true
      end
     else
      do
       local priority = tonumber(place or 0)
       if priority == 0 then
        redis.call('RPUSH', KEYS[2], id)
       else
        local format_rank
        do
         local rank
         repeat
          local band_2 = (100 - priority) * 17592186044416
          local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
          local last = redis.call('ZREVRANGEBYSCORE', KEYS[3], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
          rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
         until true
         format_rank = string.format('%.0f', rank)
        end
        redis.call('ZADD', KEYS[3], format_rank, id)
       end
      end
     end
    end
   end
  end
  redis.call('HSET', KEYS[1], id, (struct.pack('>I4HHBI6I6I6Hc0Bc0', run_2.attempt, run_2.used, math.min(run_2.tries, 65535), run_2.marks + run_2.depended, run_2.expires, run_2.due, run_2.taken, #run_2.options, run_2.options, #run_2.consumer, run_2.consumer) .. run_2.history))
  if state_2 == 'dead' and run_2.depended > 0 then
   do
    local options_6 = run_2.options
    do
     local message
     do
      local key_of
      repeat
       if options_6 == '' then
        key_of = ''
        break
       end
       local __16, __17, __18, __19, its_key_4 = struct.unpack('>I6BI6I6Hc0', options_6)
       key_of = its_key_4
      until true
      message = 'ended\t' .. ARGV[2] .. '\t' .. id .. '\t' .. 'dead' .. '\t' .. key_of
     end
     redis.call('ZADD', KEYS[20], now, message)
    end
   end
  end
  if state_2 ~= 'dead' and run_2.expires > 0 then
   repeat
    local expires_2, due_ms_4, ids_2 = run_2.expires, run_2.due, {
     id,
    }
    local horizon = redis.call('HGET', KEYS[10], 'h:' .. ARGV[2])
    if horizon and expires_2 >= tonumber(horizon) and due_ms_4 <= expires_2 then
     break
    end
    if horizon or due_ms_4 > expires_2 then
     local members = {
     }
     for i_2 = 1, #ids_2 do
      members[#members + 1] = expires_2
      members[#members + 1] = ids_2[i_2]
     end
     redis.call('ZADD', KEYS[6], unpack(members))
    else
     redis.call('HSET', KEYS[10], 'h:' .. ARGV[2], expires_2)
    end
    do
     redis.call('ZADD', KEYS[13], 'LT', math.min(expires_2, now + 600000), ARGV[2])
    end
   until true
  end
  state, due_ms_2 = state_2, due_ms_3
 end
 local subjects_of
 repeat
  local options_7 = run.options
  local its = named < 2000 and group_of(options_7) and redis.call('HGET', KEYS[19], id)
  if not its then
   subjects_of = {
    id,
   }
   break
  end
  local ids_3 = {
  }
  for place_4 = 2, #its, 26 do
   ids_3[#ids_3 + 1] = string.sub(its, place_4, place_4 + 25)
  end
  named = named + #ids_3
  subjects_of = ids_3
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
 ended = ended + weight
 for __20, subject in ipairs(subjects) do
  do
   local attempt_2, run_3, worker = run.attempt, math.max(0, now - run.taken), run.consumer
   do
    local line = 'lease_lost' .. '\t' .. subject .. '\t' .. attempt_2 .. '\t\t' .. run_3 .. '\t\t' .. worker .. '\t' .. ''
    event_lines[#event_lines + 1] = line
   end
  end
 end
 if state == 'dead' then
  to_dead = to_dead + 1
  buried = buried + weight
  for __21, subject_2 in ipairs(subjects) do
   do
    local attempt_3, worker_2 = run.attempt, run.consumer
    do
     local line_2 = 'dead' .. '\t' .. subject_2 .. '\t' .. attempt_3 .. '\t\t' .. '' .. '\t\t' .. worker_2 .. '\t' .. reason
     event_lines[#event_lines + 1] = line_2
    end
   end
  end
 elseif state == 'retry' then
  earliest = math.min(earliest or due_ms_2, due_ms_2)
 else
  to_ready = to_ready + 1
 end
end
if earliest then
 do
  local ms_2 = earliest
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
end
if to_ready > 0 or (#ids > 0 and (redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[21]) > 0)) then
 do
  local count_3 = math.max(1, to_ready)
  local is_waited_for_2
  do
   local mark_2 = redis.call('ZSCORE', KEYS[14], ARGV[2])
   is_waited_for_2 = mark_2 and tonumber(mark_2) > now
  end
  if is_waited_for_2 then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_3)
  end
 end
end
if #ids > 0 then
 do
  local count_4 = ended
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. 'f'
  if redis.call('HINCRBY', KEYS[15], field, count_4) == count_4 then
   repeat
    if redis.call('HGET', KEYS[15], 'm') == tostring(minute) then
     break
    end
    for __22, field_2 in ipairs(redis.call('HKEYS', KEYS[15])) do
     local its_2 = tonumber(string.match(field_2, '^%d+'))
     if its_2 and its_2 <= minute - 10 then
      redis.call('HDEL', KEYS[15], field_2)
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
 do
  local count_5 = ended
  local minute_2 = math.floor(now / 60000)
  local field_3 = string.format('%d', minute_2) .. 'e'
  if redis.call('HINCRBY', KEYS[15], field_3, count_5) == count_5 then
   repeat
    if redis.call('HGET', KEYS[15], 'm') == tostring(minute_2) then
     break
    end
    for __23, field_4 in ipairs(redis.call('HKEYS', KEYS[15])) do
     local its_3 = tonumber(string.match(field_4, '^%d+'))
     if its_3 and its_3 <= minute_2 - 10 then
      redis.call('HDEL', KEYS[15], field_4)
     end
    end
    redis.call('HSET', KEYS[15], 'm', minute_2)
    redis.call('EXPIRE', KEYS[15], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[16], '-inf', minute_2 - 10)
    redis.call('ZADD', KEYS[16], minute_2, ARGV[2])
    redis.call('EXPIRE', KEYS[16], 10 * 60)
   until true
  end
 end
end
if to_dead > 0 then
 do
  local count_6 = buried
  local minute_3 = math.floor(now / 60000)
  local field_5 = string.format('%d', minute_3) .. 'd'
  if redis.call('HINCRBY', KEYS[15], field_5, count_6) == count_6 then
   repeat
    if redis.call('HGET', KEYS[15], 'm') == tostring(minute_3) then
     break
    end
    for __24, field_6 in ipairs(redis.call('HKEYS', KEYS[15])) do
     local its_4 = tonumber(string.match(field_6, '^%d+'))
     if its_4 and its_4 <= minute_3 - 10 then
      redis.call('HDEL', KEYS[15], field_6)
     end
    end
    redis.call('HSET', KEYS[15], 'm', minute_3)
    redis.call('EXPIRE', KEYS[15], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[16], '-inf', minute_3 - 10)
    redis.call('ZADD', KEYS[16], minute_3, ARGV[2])
    redis.call('EXPIRE', KEYS[16], 10 * 60)
   until true
  end
 end
end
local next_end
do
 local index = KEYS[12]
 local head_score
 do
  local head = redis.call('ZRANGE', KEYS[7], 0, 0, 'WITHSCORES')
  head_score = head[2] and tonumber(head[2])
 end
 local head_score_2
 do
  local head_2 = redis.call('ZRANGE', KEYS[9], 0, 0, 'WITHSCORES')
  head_score_2 = head_2[2] and tonumber(head_2[2])
 end
 local a, b = head_score, head_score_2
 local earliest_2 = a and b and math.min(a, b) or a or b
 redis.call('ZREM', index, ARGV[2])
 if earliest_2 then
  redis.call('ZADD', index, earliest_2, ARGV[2])
 end
 next_end = earliest_2
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
  redis.call('XADD', KEYS[17], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[18], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[18], 'events_bytes', added)
 local full_2 = most_5 < 4 * 1048576 and most_5 / 4 or 1048576
 if held >= full_2 and held - added < full_2 then
  redis.pcall('PUBLISH', KEYS[17], held)
 end
 if held > most_5 / 2 then
  most_5 = tonumber(redis.call('HGET', KEYS[18], 'events_most') or most_5)
 end
 if held > most_5 then
  do
   local most_6, added_2 = most_5 - math.floor(most_5 / 64), added
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[17], from_2, '+', 'COUNT', 100)
    for __25, entry in ipairs(found) do
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
return {
 'ok',
 taken_back,
 to_dead,
 next_end and next_end <= now and 1 or 0,
}
