--{"name": "promote", "purpose": "moves due jobs of one queue from delayed and retry to ready (edges E and J), at most `limit`, earliest first", "keys": ["ready", "prio", "priorities", "delayed", "retry", "due", "waiting", "stats", "active", "events", "counters", "lines", "turns", "shares", "flags"], "args": ["now_ms", "queue", "channel", "cap", "limit"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local function earlier(a, b)
 if a[2] ~= b[2] then
  return a[2] < b[2]
 end
 return a[1] < b[1]
end
local moved, next_due
do
 local most = tonumber(ARGV[5])
 local found = {
 }
 do
  local set = KEYS[4]
  local entries = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #entries, 2 do
   found[#found + 1] = {
    entries[i],
    tonumber(entries[i + 1]),
    set,
   }
  end
 end
 local from_delayed = #found
 do
  local set_2 = KEYS[5]
  local entries_2 = redis.call('ZRANGEBYSCORE', set_2, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i_2 = 1, #entries_2, 2 do
   found[#found + 1] = {
    entries_2[i_2],
    tonumber(entries_2[i_2 + 1]),
    set_2,
   }
  end
 end
 local moved_2 = math.min(#found, most)
 if moved_2 > 0 then
  if from_delayed > 0 and from_delayed < #found then
   table.sort(found, earlier)
  end
  local leaving = {
   [KEYS[4]] = {
   },
   [KEYS[5]] = {
   },
  }
  local ids, lateness = {
  }, {
  }
  for i_3 = 1, moved_2 do
   local id, at, set_3 = found[i_3][1], found[i_3][2], found[i_3][3]
   ids[i_3], lateness[i_3] = id, now - at
   leaving[set_3][#leaving[set_3] + 1] = id
   do
    local line = 'ready\t' .. id .. '\t\t' .. now - at .. '\t\t\t\t'
    event_lines[#event_lines + 1] = line
   end
  end
  for set_4, list in pairs(leaving) do
   if #list > 0 then
    redis.call('ZREM', set_4, unpack(list))
   end
  end
  if redis.call('EXISTS', KEYS[3]) == 0 then
   redis.call('RPUSH', KEYS[1], unpack(ids))
  else
   local its = redis.call('HMGET', KEYS[3], unpack(ids))
   for i_4, id_2 in ipairs(ids) do
    do
     local place = its[i_4]
     if (place and string.find(place, '%z')) then
      do
       local place_2 = place
       local zero
       do
        local place_3 = place_2
        zero = place_3 and string.find(place_3, '%z')
       end
       local band, number = string.sub(place_2, 1, zero + 1), nil
       number = number or 140737488355328 + redis.call('HINCRBY', KEYS[15], 'l:' .. ARGV[2], 1)
       place_2 = band .. struct.pack('>I6', number)
       redis.call('HSET', KEYS[3], id_2, place_2)
       redis.call('ZADD', KEYS[12], 0, place_2 .. id_2)
       repeat
        local its_key = string.sub(place_2, 1, zero - 1)
        local turn_of
        do
         local score = tonumber(redis.call('ZSCORE', KEYS[13], its_key) or nil)
         turn_of = score and score >= -4503599627370496 and score or nil
        end
        if turn_of then
         break
        end
        local virtual, _, start
        do
         local raw = redis.call('HMGET', KEYS[14], '', its_key)
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
        redis.call('ZADD', KEYS[13], format_turn, its_key)
       until true
      end
     else
      do
       local priority = tonumber(place or 0)
       if priority == 0 then
        redis.call('RPUSH', KEYS[1], id_2)
       else
        local format_rank
        do
         local rank
         repeat
          local band_2 = (100 - priority) * 17592186044416
          local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
          local last = redis.call('ZREVRANGEBYSCORE', KEYS[2], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
          rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
         until true
         format_rank = string.format('%.0f', rank)
        end
        redis.call('ZADD', KEYS[2], format_rank, id_2)
       end
      end
     end
    end
   end
  end
  repeat
   if #lateness == 1 then
    local bucket
    repeat
     local ms = lateness[1]
     if ms < 1 then
      bucket = 0
      break
     end
     bucket = math.floor(math.log(ms) / 0.17328679513998632 + 1e-09) + 1
    until true
    local metric = 'l' .. bucket
    local minute = math.floor(now / 60000)
    local field = string.format('%d', minute) .. metric
    if redis.call('HINCRBY', KEYS[8], field, 1) == 1 then
     repeat
      if redis.call('HGET', KEYS[8], 'm') == tostring(minute) then
       break
      end
      for __2, field_2 in ipairs(redis.call('HKEYS', KEYS[8])) do
       local its_2 = tonumber(string.match(field_2, '^%d+'))
       if its_2 and its_2 <= minute - 10 then
        redis.call('HDEL', KEYS[8], field_2)
       end
      end
      redis.call('HSET', KEYS[8], 'm', minute)
      redis.call('EXPIRE', KEYS[8], 10 * 60)
      redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', minute - 10)
      redis.call('ZADD', KEYS[9], minute, ARGV[2])
      redis.call('EXPIRE', KEYS[9], 10 * 60)
     until true
    end
    break
   end
   local of_ms, counts = {
   }, {
   }
   for i_5 = 1, #lateness do
    local ms_2 = lateness[i_5]
    of_ms[ms_2] = (of_ms[ms_2] or 0) + 1
   end
   for ms_3, count in pairs(of_ms) do
    local b_2
    repeat
     if ms_3 < 1 then
      b_2 = 0
      break
     end
     b_2 = math.floor(math.log(ms_3) / 0.17328679513998632 + 1e-09) + 1
    until true
    counts[b_2] = (counts[b_2] or 0) + count
   end
   for b_3, count_2 in pairs(counts) do
    do
     local metric_2 = 'l' .. b_3
     local minute_2 = math.floor(now / 60000)
     local field_3 = string.format('%d', minute_2) .. metric_2
     if redis.call('HINCRBY', KEYS[8], field_3, count_2) == count_2 then
      repeat
       if redis.call('HGET', KEYS[8], 'm') == tostring(minute_2) then
        break
       end
       for __3, field_4 in ipairs(redis.call('HKEYS', KEYS[8])) do
        local its_3 = tonumber(string.match(field_4, '^%d+'))
        if its_3 and its_3 <= minute_2 - 10 then
         redis.call('HDEL', KEYS[8], field_4)
        end
       end
       redis.call('HSET', KEYS[8], 'm', minute_2)
       redis.call('EXPIRE', KEYS[8], 10 * 60)
       redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', minute_2 - 10)
       redis.call('ZADD', KEYS[9], minute_2, ARGV[2])
       redis.call('EXPIRE', KEYS[9], 10 * 60)
      until true
     end
    end
   end
  until true
 end
 local reset_index
 do
  local index = KEYS[6]
  local head_score
  do
   local head = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
   head_score = head[2] and tonumber(head[2])
  end
  local head_score_2
  do
   local head_2 = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
   head_score_2 = head_2[2] and tonumber(head_2[2])
  end
  local a_2, b_4 = head_score, head_score_2
  local earliest = a_2 and b_4 and math.min(a_2, b_4) or a_2 or b_4
  redis.call('ZREM', index, ARGV[2])
  if earliest then
   redis.call('ZADD', index, earliest, ARGV[2])
  end
  reset_index = earliest
 end
 moved, next_due = moved_2, reset_index
end
if moved > 0 then
 do
  local count_3 = moved
  local is_waited_for
  do
   local mark = redis.call('ZSCORE', KEYS[7], ARGV[2])
   is_waited_for = mark and tonumber(mark) > now
  end
  if is_waited_for then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_3)
  end
 end
end
repeat
 local total = #event_lines
 local most_2 = tonumber(ARGV[4])
 if total == 0 or most_2 == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[10], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[11], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[11], 'events_bytes', added)
 local full = most_2 < 4 * 1048576 and most_2 / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[10], held)
 end
 if held > most_2 / 2 then
  most_2 = tonumber(redis.call('HGET', KEYS[11], 'events_most') or most_2)
 end
 if held > most_2 then
  do
   local most_3, added_2 = most_2 - math.floor(most_2 / 64), added
   local dropped, freed, entries_3, from_2 = 0, 0, 0, '-'
   repeat
    local found_2 = redis.call('XRANGE', KEYS[10], from_2, '+', 'COUNT', 100)
    for __4, entry in ipairs(found_2) do
     if held - freed <= most_3 then
      break
     end
     local fields = entry[2]
     dropped = dropped + tonumber(fields[6])
     local event_bytes
     do
      local place_4, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place_4 + #lines_2))
     end
     freed = freed + event_bytes
     entries_3 = entries_3 + 1
     from_2 = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_3 or #found_2 < 100
   redis.call('XTRIM', KEYS[10], 'MAXLEN', redis.call('XLEN', KEYS[10]) - entries_3)
   redis.call('HINCRBY', KEYS[11], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[11], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[11], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[11], 'events_dropped', dropped)
   redis.call('HSET', KEYS[11], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 moved,
 next_due and next_due <= now and 1 or 0,
}
