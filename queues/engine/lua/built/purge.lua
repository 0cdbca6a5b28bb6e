--{"name": "purge", "purpose": "drops completed jobs of one queue whose retention ended. At most `limit`.", "keys": ["jobs", "runs", "results", "priorities", "ready", "front", "working", "completed", "keys", "flags", "due", "ends", "queues", "events", "counters"], "args": ["now_ms", "queue", "cap", "limit", "budget"], "rest": false, "replies": ["ok"]}
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
local ended = redis.call('ZRANGEBYSCORE', KEYS[8], '-inf', now, 'LIMIT', 0, ARGV[4])
local ids_2 = first_within(ended, tonumber(ARGV[5]), KEYS[1], KEYS[3])
if #ids_2 > 0 then
 redis.call('ZREM', KEYS[8], unpack(ids_2))
 do
  redis.call('HDEL', KEYS[1], unpack(ids_2))
  redis.call('HDEL', KEYS[2], unpack(ids_2))
  redis.call('HDEL', KEYS[4], unpack(ids_2))
 end
 redis.call('HDEL', KEYS[3], unpack(ids_2))
 for _, id in ipairs(ids_2) do
  do
   do
    local line = 'purged' .. '\t' .. id .. '\t' .. '' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
    event_lines[#event_lines + 1] = line
   end
  end
 end
end
local next_end
do
 local index = KEYS[12]
 local head_score
 do
  local head = redis.call('ZRANGE', KEYS[7], 0, 0, 'WITHSCORES')
  head_score = head[2] and tonumber(head[2])
 end
 local head_score_2
 do
  local head_2 = redis.call('ZRANGE', KEYS[8], 0, 0, 'WITHSCORES')
  head_score_2 = head_2[2] and tonumber(head_2[2])
 end
 local a, b = head_score, head_score_2
 local earliest = a and b and math.min(a, b) or a or b
 redis.call('ZREM', index, ARGV[2])
 if earliest then
  redis.call('ZADD', index, earliest, ARGV[2])
 end
 next_end = earliest
end
repeat
 if redis.call('EXISTS', KEYS[1]) == 1 then
  break
 end
 redis.call('DEL', KEYS[5], KEYS[6])
 redis.call('HDEL', KEYS[10], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
 redis.call('ZREM', KEYS[11], ARGV[2])
 redis.call('ZREM', KEYS[12], ARGV[2])
 if redis.call('EXISTS', KEYS[9]) == 0 and redis.call('HEXISTS', KEYS[10], 'p:' .. ARGV[2]) == 0 then
  redis.call('ZREM', KEYS[13], ARGV[2])
 end
until true
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
    for __2, entry in ipairs(found) do
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
 #ids_2,
 next_end and next_end <= now and 1 or 0,
}
