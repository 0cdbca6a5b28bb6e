--{"name": "delete", "purpose": "removes jobs in any state (edge M). The first write frees.", "keys": ["jobs", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "expiring", "working", "dead", "completed", "keys", "flags", "due", "ends", "queues", "sweeps", "events", "counters", "blocked", "grouped", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "cap", "only", "budget"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local function first_within(ids, budget, records, more_records)
 if #ids <= 1 then
  return ids
 end
 local left, has_more = budget, more_records and redis.call('EXISTS', more_records) == 1
 for i = 1, #ids do
  left = left - redis.call('HSTRLEN', records, ids[i])
  if has_more then
   left = left - redis.call('HSTRLEN', more_records, ids[i])
  end
  if left < 0 and i > 1 then
   return {
    unpack(ids, 1, i - 1),
   }
  end
 end
 return ids
end
local sets = {
 working = KEYS[11],
 delayed = KEYS[8],
 retry = KEYS[9],
 dead = KEYS[12],
 completed = KEYS[13],
 blocked = KEYS[22],
 grouped = KEYS[23],
}
local function is_in_state(id)
 if ARGV[4] == '' then
  return true
 end
 if ARGV[4] ~= 'ready' then
  return redis.call('ZSCORE', sets[ARGV[4]], id)
 end
 for _, set in pairs(sets) do
  if redis.call('ZSCORE', set, id) then
   return false
  end
 end
 return true
end
local ids_2 = first_within({
 unpack(ARGV, 6),
}, tonumber(ARGV[5]), KEYS[1], KEYS[3])
local count = 0
for __2, id_2 in ipairs(ids_2) do
 local value = is_in_state(id_2)
 if value then
  local remove_job
  repeat
   local raw_run = redis.call('HGET', KEYS[2], id_2)
   if redis.call('HDEL', KEYS[1], id_2) == 0 then
    remove_job = nil
    break
   end
   local place = redis.call('HGET', KEYS[7], id_2)
   local zero = (place and string.find(place, '%z'))
   redis.call('HDEL', KEYS[2], id_2)
   redis.call('HDEL', KEYS[7], id_2)
   if redis.call('ZREM', KEYS[13], id_2) == 1 then
    redis.call('HDEL', KEYS[3], id_2)
    remove_job = 'was completed'
    break
   end
   if raw_run and (string.byte(raw_run, 9) >= 4) then
    do
     local options = (struct.unpack('>Hc0', raw_run, 28))
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
       message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'deleted' .. '\t' .. key_of
      end
      redis.call('ZADD', KEYS[24], now, message)
     end
    end
   end
   if redis.call('ZREM', KEYS[12], id_2) == 1 then
    remove_job = 'was dead'
    break
   end
   if redis.call('ZREM', KEYS[11], id_2) == 1 then
    if zero then
     do
      local its_key_2 = string.sub(place, 1, zero - 1)
      local virtual, in_work, start, tat
      do
       local raw = redis.call('HMGET', KEYS[27], '', its_key_2)
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
       local score = tonumber(redis.call('ZSCORE', KEYS[26], its_key_2) or nil)
       turn = score and score >= -4503599627370496 and score or nil
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
    remove_job = ''
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
    remove_job = ''
    break
   end
   if redis.call('ZREM', KEYS[23], id_2) == 1 then
    remove_job = ''
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
        local raw_4 = redis.call('HMGET', KEYS[27], '', its_key_3)
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
         local score_2 = tonumber(redis.call('ZSCORE', KEYS[26], its_key_3) or nil)
         turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
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
      local left_2 = redis.call('HINCRBY', KEYS[15], field, 1)
      if left_2 > 0 and 1 > 0 then
       local in_front = redis.call('LLEN', KEYS[5])
       if left_2 >= in_front + redis.call('LLEN', KEYS[4]) then
        redis.call('DEL', KEYS[4], KEYS[5])
        left_2 = 0
       else
        local list = in_front > 0 and KEYS[5] or KEYS[4]
        for __7 = 1, 8 do
         local id_3 = redis.call('LINDEX', list, 0)
         if left_2 == 0 or not id_3 or redis.call('HEXISTS', KEYS[1], id_3) == 1 then
          break
         end
         redis.call('LPOP', list)
         left_2 = redis.call('HINCRBY', KEYS[15], field, -1)
        end
        if left_2 > 500 then
         do
          local ms_3 = now
          redis.call('ZADD', KEYS[19], 'LT', math.min(ms_3, now + 600000), ARGV[2])
         end
        end
       end
      end
      if left_2 <= 0 then
       redis.call('HDEL', KEYS[15], field)
      end
     end
    end
   end
   remove_job = ''
  until true
  value = remove_job
 end
 local ended = value
 if ended then
  count = count + 1
  do
   do
    local line = 'deleted' .. '\t' .. id_2 .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ended
    event_lines[#event_lines + 1] = line
   end
  end
 end
end
if count > 0 then
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
    for __8, entry in ipairs(found) do
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
 count,
 #ids_2,
}
