--{"name": "reschedule", "purpose": "gives delayed and retried jobs another due time (edge Q); a time that has come makes them ready.", "keys": ["jobs", "runs", "ready", "prio", "priorities", "delayed", "retry", "expiring", "flags", "due", "sweeps", "waiting", "events", "counters", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap", "at", "delay", "budget"], "rest": true, "replies": ["ok"]}
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
local due_ms = ARGV[5] ~= '' and tonumber(ARGV[5]) or ARGV[6] ~= '0' and now_up + tonumber(ARGV[6]) or now
local reply, count, moved = {
 'ok',
}, 0, 0
local function move(id, set)
 local raw = redis.call('HGET', KEYS[2], id)
 if not raw then
  local tries, expires, _, options
  do
   local raw_2 = redis.call('HGET', KEYS[1], id)
   local bits, tries_2, expires_2, at = struct.unpack('>BHI6', raw_2)
   local due_ms_2, options_2 = nil, ''
   if bits >= 2 then
    due_ms_2, at = struct.unpack('>I6', raw_2, at)
    bits = bits - 2
   end
   if bits == 1 then
    options_2, at = struct.unpack('>Hc0', raw_2, at)
   end
   tries, expires, _, options = tries_2, expires_2, due_ms_2, options_2, at
  end
  raw = struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, tries, 0, expires, due_ms, 0, #options, options, 0, '')
 end
 local run
 do
  local raw_3 = raw
  local attempt, used, tries_3, marks, expires_3, due_ms_3, taken, options_3, consumer, at_2 = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_3)
  run = {
   attempt = attempt,
   used = used,
   tries = tries_3,
   marks = marks % 4,
   depended = marks - marks % 4,
   expires = expires_3,
   due = due_ms_3,
   taken = taken,
   options = options_3,
   consumer = consumer,
   history = string.sub(raw_3, at_2),
  }
 end
 if run.expires > 0 and run.expires < due_ms then
  return 'expires'
 end
 redis.call('ZREM', set, id)
 if due_ms > now then
  redis.call('ZADD', set, due_ms, id)
 else
  do
   local place = redis.call('HGET', KEYS[5], id)
   if (place and string.find(place, '%z')) then
    do
     local place_2 = place
     local zero
     do
      local place_3 = place_2
      zero = place_3 and string.find(place_3, '%z')
     end
     local band, number = string.sub(place_2, 1, zero + 1), nil
     number = number or 140737488355328 + redis.call('HINCRBY', KEYS[9], 'l:' .. ARGV[2], 1)
     place_2 = band .. struct.pack('>I6', number)
     redis.call('HSET', KEYS[5], id, place_2)
     redis.call('ZADD', KEYS[15], 0, place_2 .. id)
     repeat
      local its_key = string.sub(place_2, 1, zero - 1)
      local turn_of
      do
       local score = tonumber(redis.call('ZSCORE', KEYS[16], its_key) or nil)
       turn_of = score and score >= -4503599627370496 and score or nil
      end
      if turn_of then
       break
      end
      local virtual, __2, start
      do
       local raw_4 = redis.call('HMGET', KEYS[17], '', its_key)
       local virtual_2
       repeat
        local raw_5 = raw_4[1]
        if not raw_5 then
         virtual_2 = 0, 0, 0
         break
        end
        virtual_2 = struct.unpack('>ddd', raw_5)
       until true
       local in_work, start_2, tat
       repeat
        local raw_6 = raw_4[2]
        if not raw_6 then
         in_work, start_2, tat = 0, 0, 0
         break
        end
        in_work, start_2, tat = struct.unpack('>I4dd', raw_6)
       until true
       virtual, __2, start = virtual_2, in_work, start_2, tat
      end
      local format_turn
      do
       local score_2 = math.max(virtual, start)
       format_turn = string.format('%.0f', score_2)
      end
      redis.call('ZADD', KEYS[16], format_turn, its_key)
     until true
    end
   else
    do
     local priority = tonumber(place or 0)
     if priority == 0 then
      redis.call('RPUSH', KEYS[3], id)
     else
      local format_rank
      do
       local rank
       repeat
        local band_2 = (100 - priority) * 17592186044416
        local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
        local last = redis.call('ZREVRANGEBYSCORE', KEYS[4], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
        rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
       until true
       format_rank = string.format('%.0f', rank)
      end
      redis.call('ZADD', KEYS[4], format_rank, id)
     end
    end
   end
  end
  count = count + 1
 end
 run.due = math.max(now, due_ms)
 local pack_run
 do
  local run_2 = run
  pack_run = struct.pack('>I4HHBI6I6I6Hc0Bc0', run_2.attempt, run_2.used, math.min(run_2.tries, 65535), run_2.marks + run_2.depended, run_2.expires, run_2.due, run_2.taken, #run_2.options, run_2.options, #run_2.consumer, run_2.consumer) .. run_2.history
 end
 redis.call('HSET', KEYS[2], id, pack_run)
 if run.expires > 0 then
  repeat
   local expires_4, due_ms_4, ids_2 = run.expires, run.due, {
    id,
   }
   local horizon = redis.call('HGET', KEYS[9], 'h:' .. ARGV[2])
   if horizon and expires_4 >= tonumber(horizon) and due_ms_4 <= expires_4 then
    break
   end
   if horizon or due_ms_4 > expires_4 then
    local members = {
    }
    for i_2 = 1, #ids_2 do
     members[#members + 1] = expires_4
     members[#members + 1] = ids_2[i_2]
    end
    redis.call('ZADD', KEYS[8], unpack(members))
   else
    redis.call('HSET', KEYS[9], 'h:' .. ARGV[2], expires_4)
   end
   do
    redis.call('ZADD', KEYS[11], 'LT', math.min(expires_4, now + 600000), ARGV[2])
   end
  until true
 end
 do
  local line = 'rescheduled\t' .. id .. '\t' .. run.attempt .. '\t' .. run.due - now .. '\t\t\t\t'
  event_lines[#event_lines + 1] = line
 end
 moved = moved + 1
 return 'moved'
end
for __3, id_2 in ipairs(first_within({
 unpack(ARGV, 8),
}, tonumber(ARGV[7]), KEYS[1])) do
 local set_2 = redis.call('ZSCORE', KEYS[6], id_2) and KEYS[6] or redis.call('ZSCORE', KEYS[7], id_2) and KEYS[7]
 reply[#reply + 1] = set_2 and move(id_2, set_2) or redis.call('HEXISTS', KEYS[1], id_2) == 1 and 'other' or 'missing'
end
if count > 0 then
 do
  local count_2 = count
  local is_waited_for
  do
   local mark = redis.call('ZSCORE', KEYS[12], ARGV[2])
   is_waited_for = mark and tonumber(mark) > now
  end
  if is_waited_for then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count_2)
  end
 end
end
if moved > count then
 do
  if (redis.call('ZADD', KEYS[10], 'LT', 'CH', due_ms, ARGV[2]) == 1) then
   do
    local is_waited_for_2
    do
     local mark_2 = redis.call('ZSCORE', KEYS[12], ARGV[2])
     is_waited_for_2 = mark_2 and tonumber(mark_2) > now
    end
    if is_waited_for_2 then
     redis.call('PUBLISH', ARGV[3], 'due\t' .. ARGV[2] .. '\t' .. due_ms)
    end
   end
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
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[13], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[14], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[14], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[13], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[14], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[13], from_2, '+', 'COUNT', 100)
    for __4, entry in ipairs(found) do
     if held - freed <= most_2 then
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
   until freed >= added_2 or held - freed <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[13], 'MAXLEN', redis.call('XLEN', KEYS[13]) - entries)
   redis.call('HINCRBY', KEYS[14], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[14], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[14], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[14], 'events_dropped', dropped)
   redis.call('HSET', KEYS[14], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return reply
