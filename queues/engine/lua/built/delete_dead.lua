--{"name": "delete_dead", "purpose": "deletes the oldest dead letters of one queue, at most `limit`. The first write frees.", "keys": ["jobs", "runs", "ready", "front", "priorities", "dead", "keys", "flags", "due", "ends", "queues", "events", "counters", "outgoing"], "args": ["now_ms", "queue", "cap", "limit", "budget"], "rest": false, "replies": ["ok"]}
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
local ids_2 = first_within(redis.call('ZRANGE', KEYS[6], 0, ARGV[4] - 1), tonumber(ARGV[5]), KEYS[1])
if #ids_2 > 0 then
 do
  local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids_2))
  redis.call('ZREM', KEYS[6], unpack(ids_2))
  do
   redis.call('HDEL', KEYS[1], unpack(ids_2))
   redis.call('HDEL', KEYS[2], unpack(ids_2))
   redis.call('HDEL', KEYS[5], unpack(ids_2))
  end
  for _, id in ipairs(ids_2) do
   do
    do
     local line = 'deleted' .. '\t' .. id .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. 'was dead'
     event_lines[#event_lines + 1] = line
    end
   end
  end
  do
   for i_2 = 1, #ids_2 do
    local raw = raw_runs[i_2]
    if raw and (string.byte(raw, 9) >= 4) then
     do
      local id_2, options = ids_2[i_2], (struct.unpack('>Hc0', raw, 28))
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
       redis.call('ZADD', KEYS[14], now, message)
      end
     end
    end
   end
  end
 end
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HDEL', KEYS[8], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[9], ARGV[2])
  redis.call('ZREM', KEYS[10], ARGV[2])
  if redis.call('EXISTS', KEYS[7]) == 0 and redis.call('HEXISTS', KEYS[8], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[11], ARGV[2])
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
  redis.call('XADD', KEYS[12], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[13], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[13], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[12], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[13], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[12], from, '+', 'COUNT', 100)
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
   redis.call('XTRIM', KEYS[12], 'MAXLEN', redis.call('XLEN', KEYS[12]) - entries)
   redis.call('HINCRBY', KEYS[13], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[13], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[13], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[13], 'events_dropped', dropped)
   redis.call('HSET', KEYS[13], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 #ids_2,
 redis.call('ZCARD', KEYS[6]),
}
