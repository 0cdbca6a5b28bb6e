--{"name": "settle", "purpose": "what has become of dependencies of blocked jobs. A job with none left is ready, or delayed if it is not due yet", "keys": ["runs", "ready", "prio", "priorities", "blocked", "waits", "delayed", "dead", "expiring", "due", "waiting", "stats", "active", "events", "counters", "outgoing", "flags", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function with_due(raw, ms)
 return string.sub(raw, 1, 16 - 1) .. struct.pack('>I6', ms) .. string.sub(raw, 16 + 6)
end
local event_lines = {
}
local is_freed, failed = {
}, {
}
local carried = {
}
local sent = {
}
local function unblock(ids)
 local raw_runs = redis.call('HMGET', KEYS[1], unpack(ids))
 redis.call('ZREM', KEYS[5], unpack(ids))
 local readied, fields, members, earliest = {
 }, {
 }, {
 }, math.huge
 for i, id in ipairs(ids) do
  local due_ms
  do
   local raw_2 = raw_runs[i]
   due_ms = (struct.unpack('>I6', raw_2, 16))
  end
  if due_ms > now then
   members[#members + 1], members[#members + 2] = due_ms, id
   earliest = math.min(earliest, due_ms)
  else
   readied[#readied + 1] = id
   fields[#fields + 1], fields[#fields + 2] = id, with_due(raw_runs[i], now)
  end
 end
 if #members > 0 then
  redis.call('ZADD', KEYS[7], unpack(members))
  do
   local ms_2 = earliest
   if (redis.call('ZADD', KEYS[10], 'LT', 'CH', ms_2, ARGV[2]) == 1) then
    do
     local is_waited_for
     do
      local mark = redis.call('ZSCORE', KEYS[11], ARGV[2])
      is_waited_for = mark and tonumber(mark) > now
     end
     if is_waited_for then
      redis.call('PUBLISH', ARGV[3], 'due\t' .. ARGV[2] .. '\t' .. ms_2)
     end
    end
   end
  end
 end
 if #readied > 0 then
  redis.call('HSET', KEYS[1], unpack(fields))
  local places = redis.call('HMGET', KEYS[4], unpack(readied))
  for i_2, id_2 in ipairs(readied) do
   do
    local place = places[i_2]
    if (place and string.find(place, '%z')) then
     do
      local place_2 = place
      local zero
      do
       local place_3 = place_2
       zero = place_3 and string.find(place_3, '%z')
      end
      local band, number = string.sub(place_2, 1, zero + 1), nil
      number = number or 140737488355328 + redis.call('HINCRBY', KEYS[17], 'l:' .. ARGV[2], 1)
      place_2 = band .. struct.pack('>I6', number)
      redis.call('HSET', KEYS[4], id_2, place_2)
      redis.call('ZADD', KEYS[18], 0, place_2 .. id_2)
      repeat
       local its_key = string.sub(place_2, 1, zero - 1)
       local turn_of
       do
        local score = tonumber(redis.call('ZSCORE', KEYS[19], its_key) or nil)
        turn_of = score and score >= -4503599627370496 and score or nil
       end
       if turn_of then
        break
       end
       local virtual, _, start
       do
        local raw_3 = redis.call('HMGET', KEYS[20], '', its_key)
        local virtual_2
        repeat
         local raw_4 = raw_3[1]
         if not raw_4 then
          virtual_2 = 0, 0, 0
          break
         end
         virtual_2 = struct.unpack('>ddd', raw_4)
        until true
        local in_work, start_2, tat
        repeat
         local raw_5 = raw_3[2]
         if not raw_5 then
          in_work, start_2, tat = 0, 0, 0
          break
         end
         in_work, start_2, tat = struct.unpack('>I4dd', raw_5)
        until true
        virtual, _, start = virtual_2, in_work, start_2, tat
       end
       local format_turn
       do
        local score_2 = math.max(virtual, start)
        format_turn = string.format('%.0f', score_2)
       end
       redis.call('ZADD', KEYS[19], format_turn, its_key)
      until true
     end
    else
     do
      local priority = tonumber(place or 0)
      if priority == 0 then
       redis.call('RPUSH', KEYS[2], id_2)
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
       redis.call('ZADD', KEYS[3], format_rank, id_2)
      end
     end
    end
   end
   do
    local line = 'ready\t' .. id_2 .. '\t\t0\t\t\t\t'
    event_lines[#event_lines + 1] = line
   end
  end
 end
 return #readied
end
local ids_2, last_2 = {
}, {
}
for i_3 = 5, #ARGV, 3 do
 last_2[ARGV[i_3]] = i_3
end
for i_4 = 5, #ARGV, 3 do
 if last_2[ARGV[i_4]] == i_4 then
  ids_2[#ids_2 + 1] = ARGV[i_4]
 end
 do
  local id_3, wait, outcome = ARGV[i_4], ARGV[i_4 + 1], ARGV[i_4 + 2]
  local head, policy = id_3 .. '\t', string.sub(wait, 1, 1)
  local is_fatal = outcome ~= 'acked' and policy == 'f' or string.sub(outcome, 1, 6) == 'cycle '
  if outcome == 'waits' then
   if redis.call('ZREM', KEYS[6], head .. '?' .. wait) == 1 then
    redis.call('ZADD', KEYS[6], 0, head .. '+' .. wait)
   end
  elseif outcome ~= 'acked' and policy == 'w' and not is_fatal then
   if redis.call('ZREM', KEYS[6], head .. '?' .. wait, head .. '+' .. wait) > 0 then
    redis.call('ZADD', KEYS[6], 0, head .. '-' .. wait)
   end
  elseif redis.call('ZREM', KEYS[6], head .. '?' .. wait, head .. '+' .. wait, head .. '-' .. wait) > 0 then
   is_freed[id_3] = true
   if is_fatal and not failed[id_3] then
    failed[id_3] = 'dependency ' .. string.sub(wait, 2) .. ': ' .. outcome
   end
  end
 end
end
local buried, freed, is_blocked = {
}, {
}, #ids_2 > 0 and redis.call('ZMSCORE', KEYS[5], unpack(ids_2)) or {
}
for i_5, id_4 in ipairs(ids_2) do
 local left = redis.call('ZRANGEBYLEX', KEYS[6], '[' .. id_4 .. '\t' .. '', '' == '' and '(' .. id_4 .. '\n' or '(' .. id_4 .. '\t' .. '' .. '\255', 'LIMIT', 0, 1)[1]
 if is_blocked[i_5] and failed[id_4] then
  buried[#buried + 1] = id_4
  if left then
   do
    local message = ('waits\t' .. ARGV[2] .. '\t' .. id_4)
    sent[#sent + 1], sent[#sent + 2] = now, message
   end
  end
 elseif is_blocked[i_5] and is_freed[id_4] and not left then
  freed[#freed + 1] = id_4
 end
 local is_carried
 do
  local is_blocked_2 = is_blocked[i_5] and not failed[id_4]
  is_carried = not left or is_blocked_2 and not redis.call('ZRANGEBYLEX', KEYS[6], '[' .. id_4 .. '\t' .. '?', '?' == '' and '(' .. id_4 .. '\n' or '(' .. id_4 .. '\t' .. '?' .. '\255', 'LIMIT', 0, 1)[1]
 end
 if is_carried then
  carried[#carried + 1], carried[#carried + 2] = ('waits\t' .. ARGV[2] .. '\t' .. id_4), ('added\t' .. ARGV[2] .. '\t' .. id_4)
 end
end
if #carried > 0 then
 redis.call('ZREM', KEYS[16], unpack(carried))
end
if #buried > 0 then
 do
  local raw_runs_2 = redis.call('HMGET', KEYS[1], unpack(buried))
  redis.call('ZREM', KEYS[5], unpack(buried))
  redis.call('ZREM', KEYS[9], unpack(buried))
  local fields_2, members_2 = {
  }, {
  }
  for i_6, id_5 in ipairs(buried) do
   local unpack_run
   do
    local raw_6 = raw_runs_2[i_6]
    local attempt, used, tries, marks, expires, due_ms_2, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_6)
    unpack_run = {
     attempt = attempt,
     used = used,
     tries = tries,
     marks = marks % 4,
     depended = marks - marks % 4,
     expires = expires,
     due = due_ms_2,
     taken = taken,
     options = options,
     consumer = consumer,
     history = string.sub(raw_6, at),
    }
   end
   local run, text = unpack_run, failed[id_5]
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
    run.history = history .. struct.pack('>I4I6I6BBc0Hc0', run.attempt, run.taken, now, 1, #run.consumer, run.consumer, #text, text)
   end
   fields_2[2 * i_6 - 1], fields_2[2 * i_6] = id_5, (struct.pack('>I4HHBI6I6I6Hc0Bc0', run.attempt, run.used, math.min(run.tries, 65535), run.marks + run.depended, run.expires, run.due, run.taken, #run.options, run.options, #run.consumer, run.consumer) .. run.history)
   members_2[2 * i_6 - 1], members_2[2 * i_6] = now, id_5
   do
    local error = string.sub(text, 1, 200)
    do
     local line_2 = 'dead' .. '\t' .. id_5 .. '\t' .. '0' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. error
     event_lines[#event_lines + 1] = line_2
    end
   end
   if run.depended > 0 then
    do
     local message_2
     do
      local options_2 = run.options
      local key_of
      repeat
       if options_2 == '' then
        key_of = ''
        break
       end
       local __14, __15, __16, __17, its_key_2 = struct.unpack('>I6BI6I6Hc0', options_2)
       key_of = its_key_2
      until true
      message_2 = 'ended\t' .. ARGV[2] .. '\t' .. id_5 .. '\t' .. 'dead' .. '\t' .. key_of
     end
     sent[#sent + 1], sent[#sent + 2] = now, message_2
    end
   end
  end
  redis.call('HSET', KEYS[1], unpack(fields_2))
  redis.call('ZADD', KEYS[8], unpack(members_2))
  do
   local count = #buried
   local minute = math.floor(now / 60000)
   local field = string.format('%d', minute) .. 'd'
   if redis.call('HINCRBY', KEYS[12], field, count) == count then
    repeat
     if redis.call('HGET', KEYS[12], 'm') == tostring(minute) then
      break
     end
     for __18, field_2 in ipairs(redis.call('HKEYS', KEYS[12])) do
      local its = tonumber(string.match(field_2, '^%d+'))
      if its and its <= minute - 10 then
       redis.call('HDEL', KEYS[12], field_2)
      end
     end
     redis.call('HSET', KEYS[12], 'm', minute)
     redis.call('EXPIRE', KEYS[12], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[13], '-inf', minute - 10)
     redis.call('ZADD', KEYS[13], minute, ARGV[2])
     redis.call('EXPIRE', KEYS[13], 10 * 60)
    until true
   end
  end
 end
end
local readied_2 = #freed > 0 and unblock(freed) or 0
if #sent > 0 then
 redis.call('ZADD', KEYS[16], unpack(sent))
end
if readied_2 > 0 then
 do
  local is_waited_for_2
  do
   local mark_2 = redis.call('ZSCORE', KEYS[11], ARGV[2])
   is_waited_for_2 = mark_2 and tonumber(mark_2) > now
  end
  if is_waited_for_2 then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. readied_2)
  end
 end
end
repeat
 local total = #event_lines
 local most = tonumber(ARGV[4])
 if total == 0 or most == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last_3 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_3)
  redis.call('XADD', KEYS[14], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_3 - first + 1, 'e', lines)
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
   local dropped, freed_2, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[14], from_2, '+', 'COUNT', 100)
    for __19, entry in ipairs(found) do
     if held - freed_2 <= most_2 then
      break
     end
     local fields_3 = entry[2]
     dropped = dropped + tonumber(fields_3[6])
     local event_bytes
     do
      local place_4, lines_2 = fields_3[4], fields_3[8]
      event_bytes = 40 + math.floor(1.2 * (#place_4 + #lines_2))
     end
     freed_2 = freed_2 + event_bytes
     entries = entries + 1
     from_2 = '(' .. entry[1]
    end
   until freed_2 >= added_2 or held - freed_2 <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[14], 'MAXLEN', redis.call('XLEN', KEYS[14]) - entries)
   redis.call('HINCRBY', KEYS[15], 'events_bytes', -freed_2)
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
 #buried + #freed,
 #sent / 2,
}
