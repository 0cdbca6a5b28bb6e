--{"name": "drain_ready", "purpose": "deletes ready jobs of one queue: of the list's head, at most `limit` entries; after the last one, those of", "keys": ["jobs", "runs", "ready", "front", "prio", "priorities", "expiring", "keys", "flags", "due", "ends", "queues", "sweeps", "events", "counters", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "cap", "limit", "budget"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function key_end(place)
 return place and string.find(place, '%z')
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
ARGV[4], ARGV[5] = tonumber(ARGV[4]), tonumber(ARGV[5])
local list = redis.call('EXISTS', KEYS[4]) == 1 and KEYS[4] or KEYS[3]
local ids_2 = first_within(redis.call('LRANGE', list, 0, ARGV[4] - 1), ARGV[5], KEYS[1])
if #ids_2 > 0 then
 redis.call('LPOP', list, #ids_2)
else
 ids_2 = first_within(redis.call('ZRANGE', KEYS[5], 0, ARGV[4] - 1), ARGV[5], KEYS[1])
 if #ids_2 > 0 then
  redis.call('ZREM', KEYS[5], unpack(ids_2))
 end
end
local limit_keys = {
}
if #ids_2 == 0 then
 local members = redis.call('ZRANGE', KEYS[17], 0, ARGV[4] - 1)
 for i_2, member in ipairs(members) do
  ids_2[i_2] = string.sub(member, -26)
 end
 ids_2 = first_within(ids_2, ARGV[5], KEYS[1])
 if #ids_2 > 0 then
  redis.call('ZREM', KEYS[17], unpack(members, 1, #ids_2))
 end
 for i_3 = 1, #ids_2 do
  limit_keys[string.sub(members[i_3], 1, key_end(members[i_3]) - 1)] = true
 end
end
local count = 0
if #ids_2 > 0 then
 local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids_2))
 for _, id in ipairs(ids_2) do
  if redis.call('HDEL', KEYS[1], id) == 1 then
   count = count + 1
   do
    do
     local line = 'deleted' .. '\t' .. id .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
     event_lines[#event_lines + 1] = line
    end
   end
  end
 end
 redis.call('HDEL', KEYS[2], unpack(ids_2))
 redis.call('HDEL', KEYS[6], unpack(ids_2))
 redis.call('ZREM', KEYS[7], unpack(ids_2))
 do
  local ids_3 = ids_2
  for i_4 = 1, #ids_3 do
   local raw = raw_runs[i_4]
   if raw and (string.byte(raw, 9) >= 4) then
    do
     local id_2, options = ids_3[i_4], (struct.unpack('>Hc0', raw, 28))
     do
      local message
      do
       local key_of
       repeat
        if options == '' then
         key_of = ''
         break
        end
        local __2, __3, __4, __5, its_key = struct.unpack('>I6BI6I6Hc0', options)
        key_of = its_key
       until true
       message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'deleted' .. '\t' .. key_of
      end
      redis.call('ZADD', KEYS[16], now, message)
     end
    end
   end
  end
 end
 if #ids_2 > count then
  do
   local change = count - #ids_2
   local field = 't:' .. ARGV[2]
   local left_2 = redis.call('HINCRBY', KEYS[9], field, change)
   if left_2 > 0 and change > 0 then
    local in_front = redis.call('LLEN', KEYS[4])
    if left_2 >= in_front + redis.call('LLEN', KEYS[3]) then
     redis.call('DEL', KEYS[3], KEYS[4])
     left_2 = 0
    else
     local list_2 = in_front > 0 and KEYS[4] or KEYS[3]
     for __6 = 1, 8 do
      local id_3 = redis.call('LINDEX', list_2, 0)
      if left_2 == 0 or not id_3 or redis.call('HEXISTS', KEYS[1], id_3) == 1 then
       break
      end
      redis.call('LPOP', list_2)
      left_2 = redis.call('HINCRBY', KEYS[9], field, -1)
     end
     if left_2 > 500 then
      do
       local ms = now
       redis.call('ZADD', KEYS[13], 'LT', math.min(ms, now + 600000), ARGV[2])
      end
     end
    end
   end
   if left_2 <= 0 then
    redis.call('HDEL', KEYS[9], field)
   end
  end
 end
 for its_key_2 in pairs(limit_keys) do
  repeat
   if #redis.call('ZRANGE', KEYS[17], '[' .. its_key_2 .. '\0', '(' .. its_key_2 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
    break
   end
   local virtual, in_work, start, tat
   do
    local raw_2 = redis.call('HMGET', KEYS[19], '', its_key_2)
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
   repeat
    local turn_of
    do
     local score = tonumber(redis.call('ZSCORE', KEYS[18], its_key_2) or nil)
     turn_of = score and score >= -4503599627370496 and score or nil
    end
    local virtual_3, in_work_3, start_3, tat_3, turn = virtual, in_work, math.max(start, turn_of or 0), tat, nil
    redis.call('HDEL', KEYS[19], its_key_2)
    if not turn then
     redis.call('ZREM', KEYS[18], its_key_2)
    end
    if not turn and in_work_3 == 0 then
     local until_ms
     do
      local until_ms_2 = math.max(start_3 > virtual_3 and now + 10000 or 0, math.ceil(tat_3 / 1000))
      until_ms = until_ms_2 > now and until_ms_2 or nil
     end
     if not until_ms then
      break
     end
     turn = until_ms - 9007199254740992
     do
      local ms_2 = until_ms
      redis.call('ZADD', KEYS[13], 'LT', math.min(ms_2, now + 600000), ARGV[2])
     end
    end
    if turn then
     redis.call('ZADD', KEYS[18], string.format('%.0f', turn), its_key_2)
    end
    redis.call('HSET', KEYS[19], its_key_2, struct.pack('>I4dd', in_work_3, start_3, tat_3))
   until true
  until true
 end
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HDEL', KEYS[9], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[10], ARGV[2])
  redis.call('ZREM', KEYS[11], ARGV[2])
  if redis.call('EXISTS', KEYS[8]) == 0 and redis.call('HEXISTS', KEYS[9], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[12], ARGV[2])
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
  redis.call('XADD', KEYS[14], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[15], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[15], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[14], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[15], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[14], from, '+', 'COUNT', 100)
    for __7, entry in ipairs(found) do
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
   redis.call('XTRIM', KEYS[14], 'MAXLEN', redis.call('XLEN', KEYS[14]) - entries)
   redis.call('HINCRBY', KEYS[15], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[15], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[15], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[15], 'events_dropped', dropped)
   redis.call('HSET', KEYS[15], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 count,
 #ids_2,
 redis.call('LLEN', KEYS[4]) + redis.call('LLEN', KEYS[3]) + redis.call('ZCARD', KEYS[5]) + redis.call('ZCARD', KEYS[17]),
}
