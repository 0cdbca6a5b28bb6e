--{"name": "respawn", "purpose": "makes dead letters ready again with one more try and a new ttl (edge L): the oldest `limit`, or those named.", "keys": ["runs", "ready", "prio", "priorities", "expiring", "dead", "flags", "sweeps", "waiting", "events", "counters", "lines", "turns", "shares", "outgoing"], "args": ["now_ms", "queue", "channel", "cap", "ttl", "limit"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local ttl_ms, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local ids = {
}
if most > 0 then
 ids = redis.call('ZRANGE', KEYS[6], 0, most - 1)
else
 for i = 7, #ARGV do
  ids[#ids + 1] = ARGV[i]
 end
end
local count = 0
for _, id in ipairs(ids) do
 if redis.call('ZREM', KEYS[6], id) == 1 then
  count = count + 1
  local run
  do
   local raw = redis.call('HGET', KEYS[1], id)
   local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
   run = {
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
  run.tries, run.due, run.expires = run.used + 1, now, ttl_ms > 0 and now + ttl_ms or 0
  local pack_run
  do
   local run_2 = run
   pack_run = struct.pack('>I4HHBI6I6I6Hc0Bc0', run_2.attempt, run_2.used, math.min(run_2.tries, 65535), run_2.marks + run_2.depended, run_2.expires, run_2.due, run_2.taken, #run_2.options, run_2.options, #run_2.consumer, run_2.consumer) .. run_2.history
  end
  redis.call('HSET', KEYS[1], id, pack_run)
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
     number = number or 140737488355328 + redis.call('HINCRBY', KEYS[7], 'l:' .. ARGV[2], 1)
     place_2 = band .. struct.pack('>I6', number)
     redis.call('HSET', KEYS[4], id, place_2)
     redis.call('ZADD', KEYS[12], 0, place_2 .. id)
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
      local virtual, __2, start
      do
       local raw_2 = redis.call('HMGET', KEYS[14], '', its_key)
       local virtual_2
       repeat
        local raw_3 = raw_2[1]
        if not raw_3 then
         virtual_2 = 0, 0, 0
         break
        end
        virtual_2 = struct.unpack('>ddd', raw_3)
       until true
       local in_work, start_2, tat
       repeat
        local raw_4 = raw_2[2]
        if not raw_4 then
         in_work, start_2, tat = 0, 0, 0
         break
        end
        in_work, start_2, tat = struct.unpack('>I4dd', raw_4)
       until true
       virtual, __2, start = virtual_2, in_work, start_2, tat
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
  if ttl_ms > 0 then
   repeat
    local expires_2, due_ms_2, ids_2 = run.expires, now, {
     id,
    }
    local horizon = redis.call('HGET', KEYS[7], 'h:' .. ARGV[2])
    if horizon and expires_2 >= tonumber(horizon) and due_ms_2 <= expires_2 then
     break
    end
    if horizon or due_ms_2 > expires_2 then
     local members = {
     }
     for i_2 = 1, #ids_2 do
      members[#members + 1] = expires_2
      members[#members + 1] = ids_2[i_2]
     end
     redis.call('ZADD', KEYS[5], unpack(members))
    else
     redis.call('HSET', KEYS[7], 'h:' .. ARGV[2], expires_2)
    end
    do
     redis.call('ZADD', KEYS[8], 'LT', math.min(expires_2, now + 600000), ARGV[2])
    end
   until true
  end
  if run.depended > 0 then
   do
    local options_2 = run.options
    do
     local message
     do
      local key_of
      repeat
       if options_2 == '' then
        key_of = ''
        break
       end
       local __3, __4, __5, __6, its_key_2 = struct.unpack('>I6BI6I6Hc0', options_2)
       key_of = its_key_2
      until true
      message = 'ended\t' .. ARGV[2] .. '\t' .. id .. '\t' .. 'respawned' .. '\t' .. key_of
     end
     redis.call('ZADD', KEYS[15], now, message)
    end
   end
  end
  do
   local attempt_2 = run.attempt
   do
    local line = 'respawned' .. '\t' .. id .. '\t' .. attempt_2 .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
    event_lines[#event_lines + 1] = line
   end
  end
 end
end
if count > 0 then
 do
  local count_2 = count
  local is_waited_for
  do
   local mark = redis.call('ZSCORE', KEYS[9], ARGV[2])
   is_waited_for = mark and tonumber(mark) > now
  end
  if is_waited_for then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_2)
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
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[10], from_2, '+', 'COUNT', 100)
    for __7, entry in ipairs(found) do
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
     entries = entries + 1
     from_2 = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_3 or #found < 100
   redis.call('XTRIM', KEYS[10], 'MAXLEN', redis.call('XLEN', KEYS[10]) - entries)
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
 count,
 redis.call('ZCARD', KEYS[6]),
}
