--{"name": "release", "purpose": "gives a working job back without burning the try (edge K): to the head of ready, or delayed. One whose attempt", "keys": ["jobs", "runs", "ready", "front", "prio", "priorities", "delayed", "expiring", "working", "dead", "flags", "due", "sweeps", "waiting", "stats", "active", "events", "counters", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "id", "attempt", "delay"], "rest": false, "replies": ["ok", "lost", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
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
  redis.call('XADD', KEYS[17], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[18], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[18], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[17], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[18], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[17], from, '+', 'COUNT', 100)
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
end
local value = redis.call('ZSCORE', KEYS[9], ARGV[5])
if value then
 local unpack_run
 do
  local raw = redis.call('HGET', KEYS[2], ARGV[5])
  local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
  unpack_run = {
   attempt = attempt,
   used = used,
   tries = tries,
   marks = marks % 4,
   depended = marks - marks % 4,
   expires = expires,
   due = due_ms,
   taken = taken,
   options = options,
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
redis.call('ZREM', KEYS[9], ARGV[5])
do
 local options_2 = run.options
 local its_key
 repeat
  if options_2 == '' or string.byte(options_2, 7) % 128 < 64 then
   its_key = nil
   break
  end
  its_key = string.sub(options_2, -1 - string.byte(options_2, -1), -2)
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
      redis.call('ZADD', KEYS[13], 'LT', math.min(ms, now + 600000), ARGV[2])
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
if run.marks >= 2 then
 run.marks = run.marks % 2
 do
  local history = run.history
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
  run.history = history .. struct.pack('>I4I6I6BBc0Hc0', run.attempt, run.taken, now, 1, #run.consumer, run.consumer, #'cancelled', 'cancelled')
 end
 redis.call('HSET', KEYS[2], ARGV[5], (struct.pack('>I4HHBI6I6I6Hc0Bc0', run.attempt, run.used, math.min(run.tries, 65535), run.marks + run.depended, run.expires, run.due, run.taken, #run.options, run.options, #run.consumer, run.consumer) .. run.history))
 redis.call('ZADD', KEYS[10], now, ARGV[5])
 if run.depended > 0 then
  do
   local options_3 = run.options
   do
    local message
    do
     local key_of
     repeat
      if options_3 == '' then
       key_of = ''
       break
      end
      local __14, __15, __16, __17, its_key_3 = struct.unpack('>I6BI6I6Hc0', options_3)
      key_of = its_key_3
     until true
     message = 'ended\t' .. ARGV[2] .. '\t' .. ARGV[5] .. '\t' .. 'dead' .. '\t' .. key_of
    end
    redis.call('ZADD', KEYS[19], now, message)
   end
  end
 end
 do
  local attempt_2, run_2, worker = run.attempt, math.max(0, now - run.taken), run.consumer
  do
   local line = 'failed' .. '\t' .. ARGV[5] .. '\t' .. attempt_2 .. '\t\t' .. run_2 .. '\t\t' .. worker .. '\t' .. 'cancelled'
   event_lines[#event_lines + 1] = line
  end
 end
 do
  local attempt_3, worker_2 = run.attempt, run.consumer
  do
   local line_2 = 'dead' .. '\t' .. ARGV[5] .. '\t' .. attempt_3 .. '\t\t' .. '' .. '\t\t' .. worker_2 .. '\t' .. 'cancelled'
   event_lines[#event_lines + 1] = line_2
  end
 end
 if (redis.call('EXISTS', KEYS[3], KEYS[5], KEYS[20]) > 0) then
  do
   local is_waited_for
   do
    local mark = redis.call('ZSCORE', KEYS[14], ARGV[2])
    is_waited_for = mark and tonumber(mark) > now
   end
   if is_waited_for then
    redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. 1)
   end
  end
 end
 do
  local count
  repeat
   local options_4 = run.options
   if options_4 == '' or string.byte(options_4, 7) % 64 < 32 then
    count = 1
    break
   end
   local count_2 = struct.unpack('>H', options_4, #options_4 - 17 + 2)
   count = math.max(1, count_2)
  until true
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. 'f'
  if redis.call('HINCRBY', KEYS[15], field, count) == count then
   repeat
    if redis.call('HGET', KEYS[15], 'm') == tostring(minute) then
     break
    end
    for __18, field_2 in ipairs(redis.call('HKEYS', KEYS[15])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
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
  local count_3
  repeat
   local options_5 = run.options
   if options_5 == '' or string.byte(options_5, 7) % 64 < 32 then
    count_3 = 1
    break
   end
   local count_4 = struct.unpack('>H', options_5, #options_5 - 17 + 2)
   count_3 = math.max(1, count_4)
  until true
  local minute_2 = math.floor(now / 60000)
  local field_3 = string.format('%d', minute_2) .. 'd'
  if redis.call('HINCRBY', KEYS[15], field_3, count_3) == count_3 then
   repeat
    if redis.call('HGET', KEYS[15], 'm') == tostring(minute_2) then
     break
    end
    for __19, field_4 in ipairs(redis.call('HKEYS', KEYS[15])) do
     local its_2 = tonumber(string.match(field_4, '^%d+'))
     if its_2 and its_2 <= minute_2 - 10 then
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
 flush_events()
 return {
  'ok',
 }
end
do
 local attempt_4, run_3, worker_3 = run.attempt, math.max(0, now - run.taken), run.consumer
 do
  local line_3 = 'released' .. '\t' .. ARGV[5] .. '\t' .. attempt_4 .. '\t\t' .. run_3 .. '\t\t' .. worker_3 .. '\t' .. ''
  event_lines[#event_lines + 1] = line_3
 end
end
if run.marks == 0 then
 run.used = run.used - 1
end
local wait = tonumber(ARGV[7])
run.due = wait > 0 and now_up + wait or now
redis.call('HSET', KEYS[2], ARGV[5], (struct.pack('>I4HHBI6I6I6Hc0Bc0', run.attempt, run.used, math.min(run.tries, 65535), run.marks + run.depended, run.expires, run.due, run.taken, #run.options, run.options, #run.consumer, run.consumer) .. run.history))
if run.expires > 0 then
 repeat
  local expires_2, due_ms_2, ids = run.expires, run.due, {
   ARGV[5],
  }
  local horizon = redis.call('HGET', KEYS[11], 'h:' .. ARGV[2])
  if horizon and expires_2 >= tonumber(horizon) and due_ms_2 <= expires_2 then
   break
  end
  if horizon or due_ms_2 > expires_2 then
   local members = {
   }
   for i = 1, #ids do
    members[#members + 1] = expires_2
    members[#members + 1] = ids[i]
   end
   redis.call('ZADD', KEYS[8], unpack(members))
  else
   redis.call('HSET', KEYS[11], 'h:' .. ARGV[2], expires_2)
  end
  do
   redis.call('ZADD', KEYS[13], 'LT', math.min(expires_2, now + 600000), ARGV[2])
  end
 until true
end
if wait > 0 then
 redis.call('ZADD', KEYS[7], run.due, ARGV[5])
 do
  local ms_2 = run.due
  if (redis.call('ZADD', KEYS[12], 'LT', 'CH', ms_2, ARGV[2]) == 1) then
   do
    local is_waited_for_2
    do
     local mark_2 = redis.call('ZSCORE', KEYS[14], ARGV[2])
     is_waited_for_2 = mark_2 and tonumber(mark_2) > now
    end
    if is_waited_for_2 then
     redis.call('PUBLISH', ARGV[3], 'due\t' .. ARGV[2] .. '\t' .. ms_2)
    end
   end
  end
 end
else
 do
  local id, place_2 = ARGV[5], redis.call('HGET', KEYS[6], ARGV[5])
  if (place_2 and string.find(place_2, '%z')) then
   do
    local place_3 = place_2
    local zero
    do
     local place_4 = place_3
     zero = place_4 and string.find(place_4, '%z')
    end
    local band, number = string.sub(place_3, 1, zero + 1), nil
    do
     local from_2, to
     do
      from_2, to = '[' .. band, '(' .. string.sub(band, 1, -2) .. string.char(string.byte(band, -1) + 1)
     end
     local first_2 = redis.call('ZRANGEBYLEX', KEYS[20], from_2, to, 'LIMIT', 0, 1)[1]
     number = first_2 and struct.unpack('>I6', first_2, zero + 2) - 1
    end
    number = number or 140737488355328 + redis.call('HINCRBY', KEYS[11], 'l:' .. ARGV[2], 1)
    place_3 = band .. struct.pack('>I6', number)
    redis.call('HSET', KEYS[6], id, place_3)
    redis.call('ZADD', KEYS[20], 0, place_3 .. id)
    repeat
     local its_key_4 = string.sub(place_3, 1, zero - 1)
     local turn_of
     do
      local score_2 = tonumber(redis.call('ZSCORE', KEYS[21], its_key_4) or nil)
      turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
     end
     if turn_of then
      break
     end
     local virtual_4, __20, start_4
     do
      local raw_5 = redis.call('HMGET', KEYS[22], '', its_key_4)
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
      virtual_4, __20, start_4 = virtual_5, in_work_4, start_5, tat_4
     end
     local format_turn
     do
      local score_3 = math.max(virtual_4, start_4)
      format_turn = string.format('%.0f', score_3)
     end
     redis.call('ZADD', KEYS[21], format_turn, its_key_4)
    until true
   end
  else
   do
    local priority = tonumber(place_2 or 0)
    if priority ~= 0 then
     local format_rank
     do
      local rank
      repeat
       local band_2 = (100 - priority) * 17592186044416
       local from_3, to_2 = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
       do
        local first_3 = redis.call('ZRANGEBYSCORE', KEYS[5], from_3, to_2, 'WITHSCORES', 'LIMIT', 0, 1)
        rank = first_3[2] and tonumber(first_3[2]) - 1 or band_2 + now
        break
       end
       local last_2 = redis.call('ZREVRANGEBYSCORE', KEYS[5], to_2, from_3, 'WITHSCORES', 'LIMIT', 0, 1)
       rank = math.max(band_2 + now, last_2[2] and tonumber(last_2[2]) + 1 or 0)
      until true
      format_rank = string.format('%.0f', rank)
     end
     redis.call('ZADD', KEYS[5], format_rank, id)
    elseif redis.call('LPUSHX', KEYS[4], id) == 0 then
     redis.call('LPUSH', KEYS[3], id)
    end
   end
  end
 end
end
if (redis.call('EXISTS', KEYS[3], KEYS[5], KEYS[20]) > 0) then
 do
  local is_waited_for_3
  do
   local mark_3 = redis.call('ZSCORE', KEYS[14], ARGV[2])
   is_waited_for_3 = mark_3 and tonumber(mark_3) > now
  end
  if is_waited_for_3 then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. 1)
  end
 end
end
flush_events()
return {
 'ok',
}
