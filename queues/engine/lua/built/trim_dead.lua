--{"name": "trim_dead", "purpose": "drops dead letters beyond the bounds that a person set, oldest first, and counts what each bound dropped.", "keys": ["jobs", "runs", "ready", "front", "priorities", "dead", "keys", "flags", "trimmed", "due", "ends", "queues", "events", "counters", "outgoing"], "args": ["now_ms", "queue", "cap", "max_age", "max_count", "limit", "budget"], "rest": false, "replies": ["ok"]}
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
ARGV[6], ARGV[7] = tonumber(ARGV[6]), tonumber(ARGV[7])
local function drop(ids_2, bound)
 ids_2 = first_within(ids_2, ARGV[7], KEYS[1])
 if #ids_2 == 0 then
  return 0
 end
 do
  local ids_3, reason = ids_2, 'dead-letter bound: ' .. bound
  local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids_3))
  redis.call('ZREM', KEYS[6], unpack(ids_3))
  do
   redis.call('HDEL', KEYS[1], unpack(ids_3))
   redis.call('HDEL', KEYS[2], unpack(ids_3))
   redis.call('HDEL', KEYS[5], unpack(ids_3))
  end
  for _, id in ipairs(ids_3) do
   do
    do
     local line = 'deleted' .. '\t' .. id .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. reason
     event_lines[#event_lines + 1] = line
    end
   end
  end
  do
   for i_2 = 1, #ids_3 do
    local raw = raw_runs[i_2]
    if raw and (string.byte(raw, 9) >= 4) then
     do
      local id_2, options = ids_3[i_2], (struct.unpack('>Hc0', raw, 28))
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
       redis.call('ZADD', KEYS[15], now, message)
      end
     end
    end
   end
  end
 end
 redis.call('HINCRBY', KEYS[9], bound, #ids_2)
 redis.call('PEXPIRE', KEYS[9], 604800000)
 return #ids_2
end
local old, many, left_2 = 0, 0, 0
if ARGV[4] ~= '' then
 local latest = now - tonumber(ARGV[4])
 old = drop(redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', latest, 'LIMIT', 0, ARGV[6]), 'age')
 left_2 = redis.call('ZCOUNT', KEYS[6], '-inf', latest)
end
if ARGV[5] ~= '' then
 local excess = redis.call('ZCARD', KEYS[6]) - tonumber(ARGV[5])
 if excess > 0 then
  many = drop(redis.call('ZRANGE', KEYS[6], 0, math.min(excess, ARGV[6]) - 1), 'count')
 end
 left_2 = math.max(left_2, excess - many)
end
if old + many > 0 then
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HDEL', KEYS[8], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[10], ARGV[2])
  redis.call('ZREM', KEYS[11], ARGV[2])
  if redis.call('EXISTS', KEYS[7]) == 0 and redis.call('HEXISTS', KEYS[8], 'p:' .. ARGV[2]) == 0 then
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
  redis.call('XADD', KEYS[13], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
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
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[13], from, '+', 'COUNT', 100)
    for __6, entry in ipairs(found) do
     if held - freed <= most_2 then
      break
     end
     local fields = entry[2]
     dropped = dropped + tonumber(fields[6])
     local event_bytes
     do
      local place, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place + #lines_2))
     end
     freed = freed + event_bytes
     entries = entries + 1
     from = '(' .. entry[1]
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
return {
 'ok',
 old,
 many,
 left_2 > 0 and 1 or 0,
}
