--{"name": "cancel", "purpose": "deletes a job that waits; of one that is worked on, marks the attempt: unless it ends in an ack, the job is dead", "keys": ["jobs", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "expiring", "working", "dead", "completed", "keys", "flags", "due", "ends", "queues", "sweeps", "events", "counters", "blocked", "grouped", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "cap", "id"], "rest": false, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local function find_state(id)
 for name, set in pairs({
  working = KEYS[11],
  delayed = KEYS[8],
  retry = KEYS[9],
  dead = KEYS[12],
  completed = KEYS[13],
  blocked = KEYS[22],
  grouped = KEYS[23],
 }) do
  local score = redis.call('ZSCORE', set, id)
  if score then
   return name, score
  end
 end
 return 'ready', ''
end
local expires
repeat
 local raw_run = redis.call('HGET', KEYS[2], ARGV[4])
 if raw_run then
  expires = (struct.unpack('>I6', raw_run, 10))
  break
 end
 local raw = redis.call('HGET', KEYS[1], ARGV[4])
 expires = raw and (struct.unpack('>I6', raw, 4))
until true
if not expires then
 return {
  'missing',
 }
end
local state, attempt = find_state(ARGV[4]), 0
local value = (state == 'ready' or state == 'delayed' or state == 'retry' or state == 'blocked' or state == 'grouped')
if value then
 local has_expired
 do
  local expires_2 = expires
  has_expired = expires_2 > 0 and expires_2 <= now
 end
 value = has_expired
end
if value then
 return {
  'missing',
 }
end
if state == 'working' then
 local run
 do
  local raw_2 = redis.call('HGET', KEYS[2], ARGV[4])
  local attempt_2, used, tries, marks, expires_3, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_2)
  run = {
   attempt = attempt_2,
   used = used,
   tries = tries,
   marks = marks % 4,
   depended = marks - marks % 4,
   expires = expires_3,
   due = due_ms,
   taken = taken,
   options = options,
   consumer = consumer,
   history = string.sub(raw_2, at),
  }
 end
 attempt = run.attempt
 if run.marks < 2 then
  run.marks = run.marks + 2
  redis.call('HDEL', KEYS[2], ARGV[4])
  local pack_run
  do
   local run_2 = run
   pack_run = struct.pack('>I4HHBI6I6I6Hc0Bc0', run_2.attempt, run_2.used, math.min(run_2.tries, 65535), run_2.marks + run_2.depended, run_2.expires, run_2.due, run_2.taken, #run_2.options, run_2.options, #run_2.consumer, run_2.consumer) .. run_2.history
  end
  redis.call('HSET', KEYS[2], ARGV[4], pack_run)
 end
elseif state ~= 'dead' and state ~= 'completed' then
 local ended
 repeat
  local id_2 = ARGV[4]
  local raw_run_2 = redis.call('HGET', KEYS[2], id_2)
  if redis.call('HDEL', KEYS[1], id_2) == 0 then
   ended = nil
   break
  end
  local place = redis.call('HGET', KEYS[7], id_2)
  local zero = (place and string.find(place, '%z'))
  redis.call('HDEL', KEYS[2], id_2)
  redis.call('HDEL', KEYS[7], id_2)
  if redis.call('ZREM', KEYS[13], id_2) == 1 then
   redis.call('HDEL', KEYS[3], id_2)
   ended = 'was completed'
   break
  end
  if raw_run_2 and (string.byte(raw_run_2, 9) >= 4) then
   do
    local options_2 = (struct.unpack('>Hc0', raw_run_2, 28))
    do
     local message
     do
      local key_of
      repeat
       if options_2 == '' then
        key_of = ''
        break
       end
       local _, __2, __3, __4, its_key = struct.unpack('>I6BI6I6Hc0', options_2)
       key_of = its_key
      until true
      message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'deleted' .. '\t' .. key_of
     end
     redis.call('ZADD', KEYS[24], now, message)
    end
   end
  end
  if redis.call('ZREM', KEYS[12], id_2) == 1 then
   ended = 'was dead'
   break
  end
  if redis.call('ZREM', KEYS[11], id_2) == 1 then
   if zero then
    do
     local its_key_2 = string.sub(place, 1, zero - 1)
     local virtual, in_work, start, tat
     do
      local raw_3 = redis.call('HMGET', KEYS[27], '', its_key_2)
      local virtual_2
      repeat
       local raw_4 = raw_3[1]
       if not raw_4 then
        virtual_2 = 0, 0, 0
        break
       end
       virtual_2 = struct.unpack('>ddd', raw_4)
      until true
      local in_work_2, start_2, tat_2
      repeat
       local raw_5 = raw_3[2]
       if not raw_5 then
        in_work_2, start_2, tat_2 = 0, 0, 0
        break
       end
       in_work_2, start_2, tat_2 = struct.unpack('>I4dd', raw_5)
      until true
      virtual, in_work, start, tat = virtual_2, in_work_2, start_2, tat_2
     end
     local turn
     do
      local score_2 = tonumber(redis.call('ZSCORE', KEYS[26], its_key_2) or nil)
      turn = score_2 and score_2 >= -4503599627370496 and score_2 or nil
     end
     if turn and turn < 0 then
      turn = math.max(virtual, start)
     end
     repeat
      local virtual_3, in_work_3, start_3, tat_3, turn_2 = virtual, math.max(0, in_work - 1), start, tat, turn
      redis.call('HDEL', KEYS[27], its_key_2)
      if not turn_2 then
       redis.call('ZREM', KEYS[26], its_key_2)
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
        redis.call('ZADD', KEYS[19], 'LT', math.min(ms, now + 600000), ARGV[2])
       end
      end
      if turn_2 then
       redis.call('ZADD', KEYS[26], string.format('%.0f', turn_2), its_key_2)
      end
      redis.call('HSET', KEYS[27], its_key_2, struct.pack('>I4dd', in_work_3, start_3, tat_3))
     until true
    end
   end
   ended = ''
   break
  end
  redis.call('ZREM', KEYS[10], id_2)
  if redis.call('ZREM', KEYS[22], id_2) == 1 then
   do
    do
     local message_2 = ('waits\t' .. ARGV[2] .. '\t' .. id_2)
     redis.call('ZADD', KEYS[24], now, message_2)
    end
   end
   ended = ''
   break
  end
  if redis.call('ZREM', KEYS[23], id_2) == 1 then
   ended = ''
   break
  end
  if redis.call('ZREM', KEYS[8], id_2) + redis.call('ZREM', KEYS[9], id_2) + redis.call('ZREM', KEYS[6], id_2) == 0 then
   if zero then
    do
     redis.call('ZREM', KEYS[25], place .. id_2)
     repeat
      local its_key_3 = string.sub(place, 1, (place and string.find(place, '%z')) - 1)
      if #redis.call('ZRANGE', KEYS[25], '[' .. its_key_3 .. '\0', '(' .. its_key_3 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
       break
      end
      local virtual_4, in_work_4, start_4, tat_4
      do
       local raw_6 = redis.call('HMGET', KEYS[27], '', its_key_3)
       local virtual_5
       repeat
        local raw_7 = raw_6[1]
        if not raw_7 then
         virtual_5 = 0, 0, 0
         break
        end
        virtual_5 = struct.unpack('>ddd', raw_7)
       until true
       local in_work_5, start_5, tat_5
       repeat
        local raw_8 = raw_6[2]
        if not raw_8 then
         in_work_5, start_5, tat_5 = 0, 0, 0
         break
        end
        in_work_5, start_5, tat_5 = struct.unpack('>I4dd', raw_8)
       until true
       virtual_4, in_work_4, start_4, tat_4 = virtual_5, in_work_5, start_5, tat_5
      end
      repeat
       local turn_of
       do
        local score_3 = tonumber(redis.call('ZSCORE', KEYS[26], its_key_3) or nil)
        turn_of = score_3 and score_3 >= -4503599627370496 and score_3 or nil
       end
       local virtual_6, in_work_6, start_6, tat_6, turn_3 = virtual_4, in_work_4, math.max(start_4, turn_of or 0), tat_4, nil
       redis.call('HDEL', KEYS[27], its_key_3)
       if not turn_3 then
        redis.call('ZREM', KEYS[26], its_key_3)
       end
       if not turn_3 and in_work_6 == 0 then
        local until_ms_3
        do
         local until_ms_4 = math.max(start_6 > virtual_6 and now + 10000 or 0, math.ceil(tat_6 / 1000))
         until_ms_3 = until_ms_4 > now and until_ms_4 or nil
        end
        if not until_ms_3 then
         break
        end
        turn_3 = until_ms_3 - 9007199254740992
        do
         local ms_2 = until_ms_3
         redis.call('ZADD', KEYS[19], 'LT', math.min(ms_2, now + 600000), ARGV[2])
        end
       end
       if turn_3 then
        redis.call('ZADD', KEYS[26], string.format('%.0f', turn_3), its_key_3)
       end
       redis.call('HSET', KEYS[27], its_key_3, struct.pack('>I4dd', in_work_6, start_6, tat_6))
      until true
     until true
    end
   else
    do
     local field = 't:' .. ARGV[2]
     local left = redis.call('HINCRBY', KEYS[15], field, 1)
     if left > 0 and 1 > 0 then
      local in_front = redis.call('LLEN', KEYS[5])
      if left >= in_front + redis.call('LLEN', KEYS[4]) then
       redis.call('DEL', KEYS[4], KEYS[5])
       left = 0
      else
       local list = in_front > 0 and KEYS[5] or KEYS[4]
       for __5 = 1, 8 do
        local id_3 = redis.call('LINDEX', list, 0)
        if left == 0 or not id_3 or redis.call('HEXISTS', KEYS[1], id_3) == 1 then
         break
        end
        redis.call('LPOP', list)
        left = redis.call('HINCRBY', KEYS[15], field, -1)
       end
       if left > 500 then
        do
         local ms_3 = now
         redis.call('ZADD', KEYS[19], 'LT', math.min(ms_3, now + 600000), ARGV[2])
        end
       end
      end
     end
     if left <= 0 then
      redis.call('HDEL', KEYS[15], field)
     end
    end
   end
  end
  ended = ''
 until true
 do
  local error = ended
  do
   local line = 'deleted' .. '\t' .. ARGV[4] .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. error
   event_lines[#event_lines + 1] = line
  end
 end
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[4], KEYS[5])
  redis.call('HDEL', KEYS[15], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[16], ARGV[2])
  redis.call('ZREM', KEYS[17], ARGV[2])
  if redis.call('EXISTS', KEYS[14]) == 0 and redis.call('HEXISTS', KEYS[15], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[18], ARGV[2])
  end
 until true
end
repeat
 local total = #event_lines
 local most = tonumber(ARGV[3])
 if total == 0 or most == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last)
  redis.call('XADD', KEYS[20], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[21], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[21], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[20], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[21], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[20], from, '+', 'COUNT', 100)
    for __6, entry in ipairs(found) do
     if held - freed <= most_2 then
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
     entries = entries + 1
     from = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[20], 'MAXLEN', redis.call('XLEN', KEYS[20]) - entries)
   redis.call('HINCRBY', KEYS[21], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[21], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[21], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[21], 'events_dropped', dropped)
   redis.call('HSET', KEYS[21], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 state,
 attempt,
}
