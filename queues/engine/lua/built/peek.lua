--{"name": "peek", "purpose": "the job that would be delivered next, without delivering it. Steps over tombstones and expired jobs, which it", "keys": ["jobs", "runs", "ready", "front", "prio", "priorities", "expiring", "keys", "flags", "due", "ends", "queues", "stats", "sweeps", "active", "events", "counters", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "cap", "skip"], "rest": false, "replies": ["job", "none", "more"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function unpack_run(raw)
 local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
 return {
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
local function format_turn(score)
 return string.format('%.0f', score)
end
local event_lines = {
}
local tombstones, expired, skipped = 0, 0, 0
local found = {
 'more',
 now,
}
while skipped < tonumber(ARGV[4]) do
 local member
 repeat
  if redis.call('EXISTS', KEYS[19]) == 0 then
   member = nil
   break
  end
  local first = redis.call('ZRANGEBYSCORE', KEYS[20], 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if redis.call('EXISTS', KEYS[3], KEYS[5]) > 0 then
   local virtual, start
   repeat
    local raw_2 = redis.call('HGET', KEYS[21], '')
    if not raw_2 then
     virtual, start = 0, 0, 0
     break
    end
    virtual, start = struct.unpack('>ddd', raw_2)
   until true
   if not first[1] or math.max(virtual, start) <= tonumber(first[2]) then
    member = nil
    break
   end
  end
  local its_key = first[1] or redis.call('ZRANGEBYSCORE', KEYS[20], format_turn(-4503599627370496), '(0', 'LIMIT', 0, 1)[1]
  member = redis.call('ZRANGE', KEYS[19], '[' .. its_key .. '\0', '(' .. its_key .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
 until true
 local value = not member
 if value then
  local first_of_prio
  repeat
   local head = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
   if head[1] and (tonumber(head[2]) < 1759218604441600 or redis.call('LLEN', KEYS[3]) == 0) then
    first_of_prio = head[1]
    break
   end
  until true
  value = first_of_prio
 end
 local in_prio = value
 local list = redis.call('EXISTS', KEYS[4]) == 1 and KEYS[4] or KEYS[3]
 local id = member and string.sub(member, -26) or in_prio or redis.call('LINDEX', list, 0)
 if not id then
  found = {
   'none',
   now,
  }
  break
 end
 local raw_run = redis.call('HGET', KEYS[2], id)
 local expires_2
 repeat
  if raw_run then
   expires_2 = (struct.unpack('>I6', raw_run, 10))
   break
  end
  local raw_3 = redis.call('HGET', KEYS[1], id)
  expires_2 = raw_3 and (struct.unpack('>I6', raw_3, 4))
 until true
 if not expires_2 then
  tombstones = tombstones + 1
  skipped = skipped + 1
 else
  local has_expired
  do
   local expires_3 = expires_2
   has_expired = expires_3 > 0 and expires_3 <= now
  end
  if not has_expired then
   local raw_4 = redis.call('HGET', KEYS[1], id)
   local tries_2, _, __2, options_2, body_at
   do
    local bits, tries_3, expires_4, at_2 = struct.unpack('>BHI6', raw_4)
    local due_ms_2, options_3 = nil, ''
    if bits >= 2 then
     due_ms_2, at_2 = struct.unpack('>I6', raw_4, at_2)
     bits = bits - 2
    end
    if bits == 1 then
     options_3, at_2 = struct.unpack('>Hc0', raw_4, at_2)
    end
    tries_2, _, __2, options_2, body_at = tries_3, expires_4, due_ms_2, options_3, at_2
   end
   local run = raw_run and unpack_run(raw_run) or {
    attempt = 0,
    used = 0,
    tries = tries_2,
   }
   found = {
    'job',
    now,
    id,
    run.attempt,
    run.used,
    run.tries,
    expires_2,
    options_2,
    string.sub(raw_4, body_at),
   }
   break
  end
  skipped = skipped + 2 + math.floor(redis.call('HSTRLEN', KEYS[1], id) / 16384)
  do
   local ids = {
    id,
   }
   redis.call('HDEL', KEYS[1], unpack(ids))
   redis.call('HDEL', KEYS[2], unpack(ids))
   redis.call('HDEL', KEYS[6], unpack(ids))
  end
  redis.call('ZREM', KEYS[7], id)
  expired = expired + 1
  do
   local attempt_2 = raw_run and (struct.unpack('>I4', raw_run)) or 0
   do
    local line = 'expired' .. '\t' .. id .. '\t' .. attempt_2 .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
    event_lines[#event_lines + 1] = line
   end
  end
  do
   local ids_2, raw_runs = {
    id,
   }, {
    raw_run,
   }
   for i = 1, #ids_2 do
    local raw_5 = raw_runs[i]
    if raw_5 and (string.byte(raw_5, 9) >= 4) then
     do
      local id_2, options_4 = ids_2[i], (struct.unpack('>Hc0', raw_5, 28))
      do
       local message
       do
        local key_of
        repeat
         if options_4 == '' then
          key_of = ''
          break
         end
         local __3, __4, __5, __6, its_key_2 = struct.unpack('>I6BI6I6Hc0', options_4)
         key_of = its_key_2
        until true
        message = 'ended\t' .. ARGV[2] .. '\t' .. id_2 .. '\t' .. 'expired' .. '\t' .. key_of
       end
       redis.call('ZADD', KEYS[18], now, message)
      end
     end
    end
   end
  end
 end
 if member then
  do
   local place = string.sub(member, 1, -1 - 26)
   redis.call('ZREM', KEYS[19], place .. id)
   repeat
    local its_key_3 = string.sub(place, 1, (place and string.find(place, '%z')) - 1)
    if #redis.call('ZRANGE', KEYS[19], '[' .. its_key_3 .. '\0', '(' .. its_key_3 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
     break
    end
    local virtual_2, in_work, start_2, tat
    do
     local raw_6 = redis.call('HMGET', KEYS[21], '', its_key_3)
     local virtual_3
     repeat
      local raw_7 = raw_6[1]
      if not raw_7 then
       virtual_3 = 0, 0, 0
       break
      end
      virtual_3 = struct.unpack('>ddd', raw_7)
     until true
     local in_work_2, start_3, tat_2
     repeat
      local raw_8 = raw_6[2]
      if not raw_8 then
       in_work_2, start_3, tat_2 = 0, 0, 0
       break
      end
      in_work_2, start_3, tat_2 = struct.unpack('>I4dd', raw_8)
     until true
     virtual_2, in_work, start_2, tat = virtual_3, in_work_2, start_3, tat_2
    end
    repeat
     local turn_of
     do
      local score_2 = tonumber(redis.call('ZSCORE', KEYS[20], its_key_3) or nil)
      turn_of = score_2 and score_2 >= -4503599627370496 and score_2 or nil
     end
     local virtual_4, in_work_3, start_4, tat_3, turn = virtual_2, in_work, math.max(start_2, turn_of or 0), tat, nil
     redis.call('HDEL', KEYS[21], its_key_3)
     if not turn then
      redis.call('ZREM', KEYS[20], its_key_3)
     end
     if not turn and in_work_3 == 0 then
      local until_ms
      do
       local until_ms_2 = math.max(start_4 > virtual_4 and now + 10000 or 0, math.ceil(tat_3 / 1000))
       until_ms = until_ms_2 > now and until_ms_2 or nil
      end
      if not until_ms then
       break
      end
      turn = until_ms - 9007199254740992
      do
       local ms = until_ms
       redis.call('ZADD', KEYS[14], 'LT', math.min(ms, now + 600000), ARGV[2])
      end
     end
     if turn then
      redis.call('ZADD', KEYS[20], string.format('%.0f', turn), its_key_3)
     end
     redis.call('HSET', KEYS[21], its_key_3, struct.pack('>I4dd', in_work_3, start_4, tat_3))
    until true
   until true
  end
 elseif in_prio then
  redis.call('ZREM', KEYS[5], id)
 else
  redis.call('LPOP', list)
 end
end
if tombstones > 0 then
 do
  local change = -tombstones
  local field = 't:' .. ARGV[2]
  local left = redis.call('HINCRBY', KEYS[9], field, change)
  if left > 0 and change > 0 then
   local in_front = redis.call('LLEN', KEYS[4])
   if left >= in_front + redis.call('LLEN', KEYS[3]) then
    redis.call('DEL', KEYS[3], KEYS[4])
    left = 0
   else
    local list_2 = in_front > 0 and KEYS[4] or KEYS[3]
    for __7 = 1, 8 do
     local id_3 = redis.call('LINDEX', list_2, 0)
     if left == 0 or not id_3 or redis.call('HEXISTS', KEYS[1], id_3) == 1 then
      break
     end
     redis.call('LPOP', list_2)
     left = redis.call('HINCRBY', KEYS[9], field, -1)
    end
    if left > 500 then
     do
      local ms_2 = now
      redis.call('ZADD', KEYS[14], 'LT', math.min(ms_2, now + 600000), ARGV[2])
     end
    end
   end
  end
  if left <= 0 then
   redis.call('HDEL', KEYS[9], field)
  end
 end
end
if expired > 0 then
 do
  local count = expired
  local minute = math.floor(now / 60000)
  local field_2 = string.format('%d', minute) .. 'x'
  if redis.call('HINCRBY', KEYS[13], field_2, count) == count then
   repeat
    if redis.call('HGET', KEYS[13], 'm') == tostring(minute) then
     break
    end
    for __8, field_3 in ipairs(redis.call('HKEYS', KEYS[13])) do
     local its = tonumber(string.match(field_3, '^%d+'))
     if its and its <= minute - 10 then
      redis.call('HDEL', KEYS[13], field_3)
     end
    end
    redis.call('HSET', KEYS[13], 'm', minute)
    redis.call('EXPIRE', KEYS[13], 10 * 60)
    redis.call('ZREMRANGEBYSCORE', KEYS[15], '-inf', minute - 10)
    redis.call('ZADD', KEYS[15], minute, ARGV[2])
    redis.call('EXPIRE', KEYS[15], 10 * 60)
   until true
  end
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
 for first_2 = 1, total, 64 do
  local last = math.min(first_2 + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first_2, last)
  redis.call('XADD', KEYS[16], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first_2 + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[17], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[17], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[16], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[17], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found_2 = redis.call('XRANGE', KEYS[16], from, '+', 'COUNT', 100)
    for __9, entry in ipairs(found_2) do
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
   until freed >= added_2 or held - freed <= most_2 or #found_2 < 100
   redis.call('XTRIM', KEYS[16], 'MAXLEN', redis.call('XLEN', KEYS[16]) - entries)
   redis.call('HINCRBY', KEYS[17], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[17], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[17], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[17], 'events_dropped', dropped)
   redis.call('HSET', KEYS[17], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return found
