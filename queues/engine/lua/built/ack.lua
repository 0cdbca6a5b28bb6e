--{"name": "ack", "purpose": "ends jobs (edge G). A working job is gone, or completed until its retention ends; a job in any other state is deleted.", "keys": ["jobs", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "expiring", "working", "dead", "completed", "keys", "flags", "due", "ends", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "blocked", "grouped", "batches", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "attempt", "has_result", "result"], "rest": true, "replies": ["ok"]}
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
local function leave_slots(its_key, number)
 local virtual, in_work, start, tat
 do
  local raw = redis.call('HMGET', KEYS[31], '', its_key)
  local virtual_2
  repeat
   local raw_2 = raw[1]
   if not raw_2 then
    virtual_2 = 0, 0, 0
    break
   end
   virtual_2 = struct.unpack('>ddd', raw_2)
  until true
  local in_work_2, start_2, tat_2
  repeat
   local raw_3 = raw[2]
   if not raw_3 then
    in_work_2, start_2, tat_2 = 0, 0, 0
    break
   end
   in_work_2, start_2, tat_2 = struct.unpack('>I4dd', raw_3)
  until true
  virtual, in_work, start, tat = virtual_2, in_work_2, start_2, tat_2
 end
 local turn
 do
  local score = tonumber(redis.call('ZSCORE', KEYS[30], its_key) or nil)
  turn = score and score >= -4503599627370496 and score or nil
 end
 if turn and turn < 0 then
  turn = math.max(virtual, start)
 end
 repeat
  local virtual_3, in_work_3, start_3, tat_3, turn_2 = virtual, math.max(0, in_work - number), start, tat, turn
  redis.call('HDEL', KEYS[31], its_key)
  if not turn_2 then
   redis.call('ZREM', KEYS[30], its_key)
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
   redis.call('ZADD', KEYS[30], string.format('%.0f', turn_2), its_key)
  end
  redis.call('HSET', KEYS[31], its_key, struct.pack('>I4dd', in_work_3, start_3, tat_3))
 until true
end
local function ended_message(id, outcome, options_2)
 local key_of
 repeat
  if options_2 == '' then
   key_of = ''
   break
  end
  local _, __2, __3, __4, its_key_2 = struct.unpack('>I6BI6I6Hc0', options_2)
  key_of = its_key_2
 until true
 return 'ended\t' .. ARGV[2] .. '\t' .. id .. '\t' .. outcome .. '\t' .. key_of
end
local named = 0
local fence = tonumber(ARGV[5])
local slots
local outcome_2, ended, durations, seen, ids = {
 'ok',
}, {
}, {
}, {
}, {
}
local messages
for i = 8, #ARGV do
 ids[#ids + 1] = ARGV[i]
end
local leases = redis.call('ZMSCORE', KEYS[11], unpack(ids))
local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids))
for i_2, id_2 in ipairs(ids) do
 local word
 if seen[id_2] then
  word = 'missing'
 elseif leases[i_2] then
  local its_attempt, __5, __6, marks, __7, __8, taken, options_3, consumer = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_runs[i_2])
  local value = fence and fence ~= its_attempt and 'lost'
  if not value then
   local finish
   repeat
    local retention, kind
    repeat
     if options_3 == '' then
      retention, kind = 0, 0, 0, 0
      break
     end
     retention, kind = struct.unpack('>I6BI6I6', options_3)
    until true
    if kind >= 64 then
     local its_key_3
     repeat
      if options_3 == '' or string.byte(options_3, 7) % 128 < 64 then
       its_key_3 = nil
       break
      end
      its_key_3 = string.sub(options_3, -1 - string.byte(options_3, -1), -2)
     until true
     if its_key_3 then
      slots = slots or {
      }
      slots[its_key_3] = (slots[its_key_3] or 0) + 1
     end
    end
    if retention > 0 then
     if ARGV[6] == '2' then
      finish = 'too_large'
      break
     end
     redis.call('ZREM', KEYS[11], id_2)
     redis.call('ZADD', KEYS[13], now + retention, id_2)
     if ARGV[6] == '1' then
      redis.call('HSET', KEYS[3], id_2, ARGV[7])
     end
     do
      local ms_2 = now + retention
      local unused = redis.call('ZADD', KEYS[17], 'LT', 'CH', ms_2, ARGV[2]) == 1
     end
     redis.call('PUBLISH', ARGV[3], 'done\t' .. ARGV[2] .. '\t' .. id_2)
    else
     ended[#ended + 1] = id_2
    end
    local run_ms = math.max(0, now - taken)
    durations[#durations + 1] = run_ms
    local line_end = string.format('\t%d\t\t%d\t\t', its_attempt, run_ms) .. consumer .. '\t'
    if kind % 64 >= 32 then
     local members
     repeat
      local its = named < 2000 and group_of(options_3) and redis.call('HGET', KEYS[27], id_2)
      if not its then
       members = {
        id_2,
       }
       break
      end
      local ids_2 = {
      }
      for place = 2, #its, 26 do
       ids_2[#ids_2 + 1] = string.sub(its, place, place + 25)
      end
      named = named + #ids_2
      members = ids_2
     until true
     for __9, member in ipairs(members) do
      do
       local line = 'acked\t' .. member .. line_end
       event_lines[#event_lines + 1] = line
      end
     end
     local weight
     repeat
      if options_3 == '' or string.byte(options_3, 7) % 64 < 32 then
       weight = 1
       break
      end
      local count_2 = struct.unpack('>H', options_3, #options_3 - 17 + 2)
      weight = math.max(1, count_2)
     until true
     if weight > 1 then
      do
       local bucket
       repeat
        if run_ms < 1 then
         bucket = 0
         break
        end
        bucket = math.floor(math.log(run_ms) / 0.17328679513998632 + 1e-09) + 1
       until true
       local metric, count_3 = 'r' .. bucket, weight - 1
       local minute = math.floor(now / 60000)
       local field = string.format('%d', minute) .. metric
       if redis.call('HINCRBY', KEYS[21], field, count_3) == count_3 then
        repeat
         if redis.call('HGET', KEYS[21], 'm') == tostring(minute) then
          break
         end
         for __10, field_2 in ipairs(redis.call('HKEYS', KEYS[21])) do
          local its_2 = tonumber(string.match(field_2, '^%d+'))
          if its_2 and its_2 <= minute - 10 then
           redis.call('HDEL', KEYS[21], field_2)
          end
         end
         redis.call('HSET', KEYS[21], 'm', minute)
         redis.call('EXPIRE', KEYS[21], 10 * 60)
         redis.call('ZREMRANGEBYSCORE', KEYS[22], '-inf', minute - 10)
         redis.call('ZADD', KEYS[22], minute, ARGV[2])
         redis.call('EXPIRE', KEYS[22], 10 * 60)
        until true
       end
      end
     end
     if retention == 0 and marks < 4 and members[1] ~= id_2 then
      redis.call('HDEL', KEYS[27], id_2, unpack(members))
     end
    else
     do
      local line_2 = 'acked\t' .. id_2 .. line_end
      event_lines[#event_lines + 1] = line_2
     end
    end
    finish = run_ms
   until true
   value = finish
  end
  word = value
  if marks >= 4 and type(word) == 'number' then
   word = -1 - word
   messages = messages or {
   }
   messages[#messages + 1], messages[#messages + 2] = now, ended_message(id_2, 'acked', options_3)
  end
 else
  local value_2 = fence and 'lost'
  if not value_2 then
   local delete
   repeat
    local value_3 = not redis.call('ZSCORE', KEYS[13], id_2)
    if value_3 then
     local remove_job
     repeat
      local raw_run = redis.call('HGET', KEYS[2], id_2)
      if redis.call('HDEL', KEYS[1], id_2) == 0 then
       remove_job = nil
       break
      end
      local place_2 = redis.call('HGET', KEYS[7], id_2)
      local zero = (place_2 and string.find(place_2, '%z'))
      redis.call('HDEL', KEYS[2], id_2)
      redis.call('HDEL', KEYS[7], id_2)
      if redis.call('ZREM', KEYS[13], id_2) == 1 then
       redis.call('HDEL', KEYS[3], id_2)
       remove_job = 'was completed'
       break
      end
      if raw_run and (string.byte(raw_run, 9) >= 4) then
       do
        local options_4 = (struct.unpack('>Hc0', raw_run, 28))
        do
         local message
         do
          local key_of_2
          repeat
           if options_4 == '' then
            key_of_2 = ''
            break
           end
           local __11, __12, __13, __14, its_key_4 = struct.unpack('>I6BI6I6Hc0', options_4)
           key_of_2 = its_key_4
          until true
          message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'deleted' .. '\t' .. key_of_2
         end
         redis.call('ZADD', KEYS[28], now, message)
        end
       end
      end
      if redis.call('ZREM', KEYS[12], id_2) == 1 then
       remove_job = 'was dead'
       break
      end
      if redis.call('ZREM', KEYS[11], id_2) == 1 then
       if zero then
        leave_slots(string.sub(place_2, 1, zero - 1), 1)
       end
       remove_job = ''
       break
      end
      redis.call('ZREM', KEYS[10], id_2)
      if redis.call('ZREM', KEYS[25], id_2) == 1 then
       do
        do
         local message_2 = ('waits\t' .. ARGV[2] .. '\t' .. id_2)
         redis.call('ZADD', KEYS[28], now, message_2)
        end
       end
       remove_job = ''
       break
      end
      if redis.call('ZREM', KEYS[26], id_2) == 1 then
       remove_job = ''
       break
      end
      if redis.call('ZREM', KEYS[8], id_2) + redis.call('ZREM', KEYS[9], id_2) + redis.call('ZREM', KEYS[6], id_2) == 0 then
       if zero then
        do
         redis.call('ZREM', KEYS[29], place_2 .. id_2)
         repeat
          local its_key_5 = string.sub(place_2, 1, (place_2 and string.find(place_2, '%z')) - 1)
          if #redis.call('ZRANGE', KEYS[29], '[' .. its_key_5 .. '\0', '(' .. its_key_5 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
           break
          end
          local virtual_4, in_work_4, start_4, tat_4
          do
           local raw_4 = redis.call('HMGET', KEYS[31], '', its_key_5)
           local virtual_5
           repeat
            local raw_5 = raw_4[1]
            if not raw_5 then
             virtual_5 = 0, 0, 0
             break
            end
            virtual_5 = struct.unpack('>ddd', raw_5)
           until true
           local in_work_5, start_5, tat_5
           repeat
            local raw_6 = raw_4[2]
            if not raw_6 then
             in_work_5, start_5, tat_5 = 0, 0, 0
             break
            end
            in_work_5, start_5, tat_5 = struct.unpack('>I4dd', raw_6)
           until true
           virtual_4, in_work_4, start_4, tat_4 = virtual_5, in_work_5, start_5, tat_5
          end
          repeat
           local turn_of
           do
            local score_2 = tonumber(redis.call('ZSCORE', KEYS[30], its_key_5) or nil)
            turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
           end
           local virtual_6, in_work_6, start_6, tat_6, turn_3 = virtual_4, in_work_4, math.max(start_4, turn_of or 0), tat_4, nil
           redis.call('HDEL', KEYS[31], its_key_5)
           if not turn_3 then
            redis.call('ZREM', KEYS[30], its_key_5)
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
             local ms_3 = until_ms_3
             redis.call('ZADD', KEYS[19], 'LT', math.min(ms_3, now + 600000), ARGV[2])
            end
           end
           if turn_3 then
            redis.call('ZADD', KEYS[30], string.format('%.0f', turn_3), its_key_5)
           end
           redis.call('HSET', KEYS[31], its_key_5, struct.pack('>I4dd', in_work_6, start_6, tat_6))
          until true
         until true
        end
       else
        do
         local field_3 = 't:' .. ARGV[2]
         local left = redis.call('HINCRBY', KEYS[15], field_3, 1)
         if left > 0 and 1 > 0 then
          local in_front = redis.call('LLEN', KEYS[5])
          if left >= in_front + redis.call('LLEN', KEYS[4]) then
           redis.call('DEL', KEYS[4], KEYS[5])
           left = 0
          else
           local list = in_front > 0 and KEYS[5] or KEYS[4]
           for __15 = 1, 8 do
            local id_3 = redis.call('LINDEX', list, 0)
            if left == 0 or not id_3 or redis.call('HEXISTS', KEYS[1], id_3) == 1 then
             break
            end
            redis.call('LPOP', list)
            left = redis.call('HINCRBY', KEYS[15], field_3, -1)
           end
           if left > 500 then
            do
             local ms_4 = now
             redis.call('ZADD', KEYS[19], 'LT', math.min(ms_4, now + 600000), ARGV[2])
            end
           end
          end
         end
         if left <= 0 then
          redis.call('HDEL', KEYS[15], field_3)
         end
        end
       end
      end
      remove_job = ''
     until true
     value_3 = remove_job
    end
    local before = value_3
    if not before then
     delete = 'missing'
     break
    end
    do
     do
      local line_3 = 'deleted' .. '\t' .. id_2 .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. before
      event_lines[#event_lines + 1] = line_3
     end
    end
    delete = 'deleted'
   until true
   value_2 = delete
  end
  word = value_2
 end
 outcome_2[i_2 + 1] = word
 seen[id_2] = true
end
if #ended > 0 then
 redis.call('ZREM', KEYS[11], unpack(ended))
 do
  redis.call('HDEL', KEYS[1], unpack(ended))
  redis.call('HDEL', KEYS[2], unpack(ended))
  redis.call('HDEL', KEYS[7], unpack(ended))
 end
end
if messages then
 redis.call('ZADD', KEYS[28], unpack(messages))
end
if slots then
 for its_key_6, number_2 in pairs(slots) do
  leave_slots(its_key_6, number_2)
 end
end
if #durations > 0 then
 repeat
  if #durations == 1 then
   local bucket_2
   repeat
    local ms_5 = durations[1]
    if ms_5 < 1 then
     bucket_2 = 0
     break
    end
    bucket_2 = math.floor(math.log(ms_5) / 0.17328679513998632 + 1e-09) + 1
   until true
   local metric_2 = 'r' .. bucket_2
   local minute_2 = math.floor(now / 60000)
   local field_4 = string.format('%d', minute_2) .. metric_2
   if redis.call('HINCRBY', KEYS[21], field_4, 1) == 1 then
    repeat
     if redis.call('HGET', KEYS[21], 'm') == tostring(minute_2) then
      break
     end
     for __16, field_5 in ipairs(redis.call('HKEYS', KEYS[21])) do
      local its_3 = tonumber(string.match(field_5, '^%d+'))
      if its_3 and its_3 <= minute_2 - 10 then
       redis.call('HDEL', KEYS[21], field_5)
      end
     end
     redis.call('HSET', KEYS[21], 'm', minute_2)
     redis.call('EXPIRE', KEYS[21], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[22], '-inf', minute_2 - 10)
     redis.call('ZADD', KEYS[22], minute_2, ARGV[2])
     redis.call('EXPIRE', KEYS[22], 10 * 60)
    until true
   end
   break
  end
  local of_ms, counts = {
  }, {
  }
  for i_3 = 1, #durations do
   local ms_6 = durations[i_3]
   of_ms[ms_6] = (of_ms[ms_6] or 0) + 1
  end
  for ms_7, count_4 in pairs(of_ms) do
   local b
   repeat
    if ms_7 < 1 then
     b = 0
     break
    end
    b = math.floor(math.log(ms_7) / 0.17328679513998632 + 1e-09) + 1
   until true
   counts[b] = (counts[b] or 0) + count_4
  end
  for b_2, count_5 in pairs(counts) do
   do
    local metric_3 = 'r' .. b_2
    local minute_3 = math.floor(now / 60000)
    local field_6 = string.format('%d', minute_3) .. metric_3
    if redis.call('HINCRBY', KEYS[21], field_6, count_5) == count_5 then
     repeat
      if redis.call('HGET', KEYS[21], 'm') == tostring(minute_3) then
       break
      end
      for __17, field_7 in ipairs(redis.call('HKEYS', KEYS[21])) do
       local its_4 = tonumber(string.match(field_7, '^%d+'))
       if its_4 and its_4 <= minute_3 - 10 then
        redis.call('HDEL', KEYS[21], field_7)
       end
      end
      redis.call('HSET', KEYS[21], 'm', minute_3)
      redis.call('EXPIRE', KEYS[21], 10 * 60)
      redis.call('ZREMRANGEBYSCORE', KEYS[22], '-inf', minute_3 - 10)
      redis.call('ZADD', KEYS[22], minute_3, ARGV[2])
      redis.call('EXPIRE', KEYS[22], 10 * 60)
     until true
    end
   end
  end
 until true
 local is_waited_for
 do
  local mark = redis.call('ZSCORE', KEYS[20], ARGV[2])
  is_waited_for = mark and tonumber(mark) > now
 end
 if is_waited_for and (redis.call('EXISTS', KEYS[4], KEYS[6], KEYS[29]) > 0) then
  do
   local count_6 = #durations
   local is_waited_for_2
   do
    local mark_2 = redis.call('ZSCORE', KEYS[20], ARGV[2])
    is_waited_for_2 = mark_2 and tonumber(mark_2) > now
   end
   if is_waited_for_2 then
    redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_6)
   end
  end
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
repeat
 local total = #event_lines
 local most_2 = tonumber(ARGV[4])
 if total == 0 or most_2 == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last)
  redis.call('XADD', KEYS[23], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[24], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[24], 'events_bytes', added)
 local full = most_2 < 4 * 1048576 and most_2 / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[23], held)
 end
 if held > most_2 / 2 then
  most_2 = tonumber(redis.call('HGET', KEYS[24], 'events_most') or most_2)
 end
 if held > most_2 then
  do
   local most_3, added_2 = most_2 - math.floor(most_2 / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[23], from, '+', 'COUNT', 100)
    for __18, entry in ipairs(found) do
     if held - freed <= most_3 then
      break
     end
     local fields = entry[2]
     dropped = dropped + tonumber(fields[6])
     local event_bytes
     do
      local place_3, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place_3 + #lines_2))
     end
     freed = freed + event_bytes
     entries = entries + 1
     from = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_3 or #found < 100
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
return outcome_2
