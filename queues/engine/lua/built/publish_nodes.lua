--{"name": "publish_nodes", "purpose": "adds jobs of a workflow under ids that were given to them before (edges A, B and C). A job that is there is left", "keys": ["jobs", "runs", "expiring", "priorities", "ready", "prio", "delayed", "blocked", "waits", "dependants", "flags", "due", "queues", "sweeps", "waiting", "stats", "active", "events", "counters", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "deadline", "delay", "at", "ttl", "tries", "priority", "options"], "rest": true, "replies": ["ok", "late"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function note_places(ids, its_key)
 local number = 140737488355328 + redis.call('HINCRBY', KEYS[11], 'l:' .. ARGV[2], #ids - 1) - #ids
 local band, places, fields = its_key .. string.char(0, 100 - ARGV[10]), {
 }, {
 }
 for i = 2, #ids do
  local place = band .. struct.pack('>I6', number + i)
  places[i - 1] = place
  fields[2 * i - 3], fields[2 * i - 2] = ids[i], place
 end
 redis.call('HSET', KEYS[4], unpack(fields))
 return places
end
local function place_new(ids_2, is_delayed, are_noted)
 local its_key_2
 repeat
  local options = ARGV[11]
  if options == '' or string.byte(options, 7) % 128 < 64 then
   its_key_2 = nil
   break
  end
  its_key_2 = string.sub(options, -1 - string.byte(options, -1), -2)
 until true
 if not its_key_2 then
  local its_priority = tonumber(ARGV[10])
  if not are_noted then
   repeat
    if its_priority == 0 then
     break
    end
    local its_priorities = {
    }
    for i_2 = 2, #ids_2 do
     its_priorities[2 * i_2 - 3], its_priorities[2 * i_2 - 2] = ids_2[i_2], its_priority
    end
    redis.call('HSET', KEYS[4], unpack(its_priorities))
   until true
  end
  if is_delayed then
   return 
  end
  if its_priority == 0 then
   redis.call('RPUSH', KEYS[5], unpack(ids_2, 2))
  else
   local free_rank
   repeat
    local band_2 = (100 - its_priority) * 17592186044416
    local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
    local last = redis.call('ZREVRANGEBYSCORE', KEYS[6], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
    free_rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
   until true
   local rank, members = free_rank, {
   }
   for i_3 = 2, #ids_2 do
    members[2 * i_3 - 3], members[2 * i_3 - 2] = string.format('%.0f', (rank + i_3 - 2)), ids_2[i_3]
   end
   redis.call('ZADD', KEYS[6], unpack(members))
  end
  return 
 end
 if are_noted and is_delayed then
  return 
 end
 local places_2, members_2 = are_noted and redis.call('HMGET', KEYS[4], unpack(ids_2, 2)) or note_places(ids_2, its_key_2), {
 }
 if is_delayed then
  return 
 end
 for i_4 = 2, #ids_2 do
  members_2[2 * i_4 - 3], members_2[2 * i_4 - 2] = 0, places_2[i_4 - 1] .. ids_2[i_4]
 end
 redis.call('ZADD', KEYS[21], unpack(members_2))
 repeat
  local its_key_3 = its_key_2
  local turn_of
  do
   local score = tonumber(redis.call('ZSCORE', KEYS[22], its_key_3) or nil)
   turn_of = score and score >= -4503599627370496 and score or nil
  end
  if turn_of then
   break
  end
  local virtual, _, start
  do
   local raw = redis.call('HMGET', KEYS[23], '', its_key_3)
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
  redis.call('ZADD', KEYS[22], format_turn, its_key_3)
 until true
end
local event_lines = {
}
local ttl_ms, wait = tonumber(ARGV[8]), tonumber(ARGV[6])
if now > tonumber(ARGV[5]) then
 return {
  'late',
 }
end
local due_ms = wait > 0 and now_up + wait or now
if ARGV[7] ~= '' then
 due_ms = math.max(now, tonumber(ARGV[7]))
 wait = due_ms - now
end
local expires = ttl_ms > 0 and now + ttl_ms or 0
local head
do
 local tries, due_ms_2, options_2 = tonumber(ARGV[9]), wait > 0 and due_ms or nil, ARGV[11]
 local bits = 0
 local tail = ''
 if due_ms_2 then
  bits = 2
  tail = struct.pack('>I6', due_ms_2)
 end
 if options_2 ~= '' then
  bits = bits + 1
  tail = tail .. struct.pack('>Hc0', #options_2, options_2)
 end
 head = struct.pack('>BHI6', bits, tries, expires) .. tail
end
local run = struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, ARGV[9], 4 + 8, expires, due_ms, 0, #ARGV[11], ARGV[11], 0, '')
local added, held, free = 0, {
 '',
}, {
 '',
}
local i_5 = 12
while i_5 <= #ARGV do
 local first_dependant = i_5 + 3 + tonumber(ARGV[i_5 + 1])
 local last_2 = first_dependant + tonumber(ARGV[i_5 + 2]) - 1
 if redis.call('HEXISTS', KEYS[1], ARGV[i_5]) == 0 then
  repeat
   local id, first_wait = ARGV[i_5], i_5 + 3
   redis.call('HSET', KEYS[1], id, head .. ARGV[last_2 + 1])
   redis.call('HSET', KEYS[2], id, run)
   added = added + 1
   local members_3 = {
   }
   for i_6 = first_dependant, last_2 do
    members_3[#members_3 + 1], members_3[#members_3 + 2] = 0, id .. '\t' .. ARGV[i_6]
   end
   redis.call('ZADD', KEYS[10], unpack(members_3))
   do
    local line = 'published\t' .. id .. '\t\t' .. (wait > 0 and wait or '') .. '\t\t' .. #ARGV[last_2 + 1] .. '\t\t'
    event_lines[#event_lines + 1] = line
   end
   if first_dependant == first_wait then
    free[#free + 1] = id
    break
   end
   held[#held + 1] = id
   redis.call('ZADD', KEYS[8], due_ms, id)
   local its_waits, is_told = {
   }, true
   for i_7 = first_wait, first_dependant - 1 do
    its_waits[#its_waits + 1], its_waits[#its_waits + 2] = 0, id .. '\t' .. ARGV[i_7]
    is_told = is_told and string.byte(ARGV[i_7]) ~= 63
   end
   redis.call('ZADD', KEYS[9], unpack(its_waits))
   if not is_told then
    do
     do
      local message = ('waits\t' .. ARGV[2] .. '\t' .. id)
      redis.call('ZADD', KEYS[20], now, message)
     end
    end
   end
  until true
 end
 i_5 = last_2 + 2
end
if #held > 1 then
 place_new(held, true)
 if expires > 0 then
  local ends = {
  }
  for j = 2, #held do
   ends[#ends + 1], ends[#ends + 2] = expires, held[j]
  end
  redis.call('ZADD', KEYS[3], unpack(ends))
  do
   redis.call('ZADD', KEYS[14], 'LT', math.min(expires, now + 600000), ARGV[2])
  end
 end
end
if #free > 1 then
 if expires > 0 then
  local horizon
  repeat
   local due_ms_3 = due_ms
   local horizon_2 = redis.call('HGET', KEYS[11], 'h:' .. ARGV[2])
   if horizon_2 and expires >= tonumber(horizon_2) and due_ms_3 <= expires then
    horizon = horizon_2
    break
   end
   if horizon_2 or due_ms_3 > expires then
    local members_4 = {
    }
    for i_8 = 2, #free do
     members_4[#members_4 + 1] = expires
     members_4[#members_4 + 1] = free[i_8]
    end
    redis.call('ZADD', KEYS[3], unpack(members_4))
   else
    redis.call('HSET', KEYS[11], 'h:' .. ARGV[2], expires)
   end
   do
    redis.call('ZADD', KEYS[14], 'LT', math.min(expires, now + 600000), ARGV[2])
   end
   horizon = horizon_2
  until true
  if horizon then
   do
    local horizon_3, size, change = horizon, redis.call('HLEN', KEYS[1]), #free - 1
    if size % 500 < change then
     do
      local ms = (size > 500 and horizon_3 - 10000 or tonumber(horizon_3))
      redis.call('ZADD', KEYS[14], 'LT', math.min(ms, now + 600000), ARGV[2])
     end
    end
   end
  end
 end
 place_new(free, wait > 0)
 if wait > 0 then
  local members_5 = {
  }
  for j_2 = 2, #free do
   members_5[#members_5 + 1], members_5[#members_5 + 2] = due_ms, free[j_2]
  end
  redis.call('ZADD', KEYS[7], unpack(members_5))
  do
   local ms_2 = due_ms
   if (redis.call('ZADD', KEYS[12], 'LT', 'CH', ms_2, ARGV[2]) == 1) then
    do
     local is_waited_for
     do
      local mark = redis.call('ZSCORE', KEYS[15], ARGV[2])
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
   local count = #free - 1
   local is_waited_for_2
   do
    local mark_2 = redis.call('ZSCORE', KEYS[15], ARGV[2])
    is_waited_for_2 = mark_2 and tonumber(mark_2) > now
   end
   if is_waited_for_2 then
    redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count)
   end
  end
 end
end
if added > 0 then
 do
  local added_2 = added
  if redis.call('HLEN', KEYS[1]) == added_2 then
   redis.call('ZADD', KEYS[13], 0, ARGV[2])
  end
 end
 do
  local count_2 = added
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. 'p'
  if redis.call('HINCRBY', KEYS[16], field, count_2) == count_2 then
   repeat
    if redis.call('HGET', KEYS[16], 'm') == tostring(minute) then
     break
    end
    for __2, field_2 in ipairs(redis.call('HKEYS', KEYS[16])) do
     local its = tonumber(string.match(field_2, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[16], field_2)
     end
    end
    redis.call('HSET', KEYS[16], 'm', minute)
    redis.call('EXPIRE', KEYS[16], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[17], '-inf', minute - 10)
    redis.call('ZADD', KEYS[17], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[17], 10 * 60)
   until true
  end
 end
 repeat
  local total = #event_lines
  local most = tonumber(ARGV[4])
  if total == 0 or most == 0 then
   break
  end
  local added_3 = 0
  for first = 1, total, 64 do
   local last_3 = math.min(first + 64 - 1, total)
   local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_3)
   redis.call('XADD', KEYS[18], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_3 - first + 1, 'e', lines)
   added_3 = added_3 + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
  end
  redis.call('HINCRBY', KEYS[19], math.floor(now / 86400000), total)
  local held_2 = redis.call('HINCRBY', KEYS[19], 'events_bytes', added_3)
  local full = most < 4 * 1048576 and most / 4 or 1048576
  if held_2 >= full and held_2 - added_3 < full then
   redis.pcall('PUBLISH', KEYS[18], held_2)
  end
  if held_2 > most / 2 then
   most = tonumber(redis.call('HGET', KEYS[19], 'events_most') or most)
  end
  if held_2 > most then
   do
    local most_2, added_4 = most - math.floor(most / 64), added_3
    local dropped, freed, entries, from_2 = 0, 0, 0, '-'
    repeat
     local found = redis.call('XRANGE', KEYS[18], from_2, '+', 'COUNT', 100)
     for __3, entry in ipairs(found) do
      if held_2 - freed <= most_2 then
       break
      end
      local fields_2 = entry[2]
      dropped = dropped + tonumber(fields_2[6])
      local event_bytes
      do
       local place_2, lines_2 = fields_2[4], fields_2[8]
       event_bytes = 40 + math.floor(1.2 * (#place_2 + #lines_2))
      end
      freed = freed + event_bytes
      entries = entries + 1
      from_2 = '(' .. entry[1]
     end
    until freed >= added_4 or held_2 - freed <= most_2 or #found < 100
    redis.call('XTRIM', KEYS[18], 'MAXLEN', redis.call('XLEN', KEYS[18]) - entries)
    redis.call('HINCRBY', KEYS[19], 'events_bytes', -freed)
    local known = redis.call('HMGET', KEYS[19], 'events_dropped', 'events_dropped_at')
    if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
     redis.call('HSET', KEYS[19], 'events_dropped_before', known[1])
    end
    redis.call('HINCRBY', KEYS[19], 'events_dropped', dropped)
    redis.call('HSET', KEYS[19], 'events_dropped_at', string.format('%d', now))
   end
  end
 until true
end
return {
 'ok',
 added,
}
