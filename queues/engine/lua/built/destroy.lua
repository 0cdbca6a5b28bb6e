--{"name": "destroy", "purpose": "drops a queue with all its jobs, in every state, and its idempotency keys. A pause stays: a person set it.", "keys": ["jobs", "runs", "results", "priorities", "front", "ready", "prio", "lines", "turns", "shares", "delayed", "retry", "expiring", "staged", "working", "dead", "completed", "blocked", "grouped", "joining", "gathered", "group_times", "group_sizes", "batches", "keys", "stats", "trend", "trimmed", "sweeps", "active", "flags", "due", "ends", "flushes", "queues", "events", "counters", "deletions", "deleted_jobs", "deleted_runs", "deleted_results", "deleted_priorities", "deleted_front", "deleted_ready", "deleted_prio", "deleted_lines", "deleted_turns", "deleted_shares", "deleted_delayed", "deleted_retry", "deleted_expiring", "deleted_staged", "deleted_working", "deleted_dead", "deleted_completed", "deleted_blocked", "deleted_grouped", "deleted_joining", "deleted_gathered", "deleted_group_times", "deleted_group_sizes", "deleted_batches", "deleted_keys", "waits", "dependants", "outgoing"], "args": ["now_ms", "queue", "cap", "id"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local DIGITS = {
 string.byte('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1, 32),
}
local count = redis.call('HLEN', KEYS[1]) - redis.call('ZCARD', KEYS[14])
local alive = count - redis.call('ZCARD', KEYS[16]) - redis.call('ZCARD', KEYS[17])
local new_names = {
 [KEYS[1]] = KEYS[39],
 [KEYS[2]] = KEYS[40],
 [KEYS[3]] = KEYS[41],
 [KEYS[4]] = KEYS[42],
 [KEYS[5]] = KEYS[43],
 [KEYS[6]] = KEYS[44],
 [KEYS[7]] = KEYS[45],
 [KEYS[11]] = KEYS[49],
 [KEYS[12]] = KEYS[50],
 [KEYS[15]] = KEYS[53],
 [KEYS[16]] = KEYS[54],
 [KEYS[17]] = KEYS[55],
 [KEYS[14]] = KEYS[52],
 [KEYS[13]] = KEYS[51],
 [KEYS[8]] = KEYS[46],
 [KEYS[9]] = KEYS[47],
 [KEYS[10]] = KEYS[48],
 [KEYS[25]] = KEYS[63],
 [KEYS[18]] = KEYS[56],
 [KEYS[19]] = KEYS[57],
 [KEYS[20]] = KEYS[58],
 [KEYS[21]] = KEYS[59],
 [KEYS[22]] = KEYS[60],
 [KEYS[23]] = KEYS[61],
 [KEYS[24]] = KEYS[62],
}
local holds_anything = false
for key, new_name in pairs(new_names) do
 if redis.call('EXISTS', key) == 1 then
  redis.call('RENAME', key, new_name)
  holds_anything = true
 end
end
if holds_anything then
 redis.call('HSET', KEYS[38], ARGV[4], '0')
end
redis.call('DEL', KEYS[26], KEYS[27], KEYS[28])
now = now + 1
local bound
do
 local low = now % 33554432
 local five_digits
 do
  local value = (now - low) / 33554432
  local e = value % 32
  value = (value - e) / 32
  local d = value % 32
  value = (value - d) / 32
  local c = value % 32
  value = (value - c) / 32
  local b = value % 32
  five_digits = string.char(DIGITS[(value - b) / 32 + 1], DIGITS[b + 1], DIGITS[c + 1], DIGITS[d + 1], DIGITS[e + 1])
 end
 local five_digits_2
 do
  local value_2 = low
  local e_2 = value_2 % 32
  value_2 = (value_2 - e_2) / 32
  local d_2 = value_2 % 32
  value_2 = (value_2 - d_2) / 32
  local c_2 = value_2 % 32
  value_2 = (value_2 - c_2) / 32
  local b_2 = value_2 % 32
  five_digits_2 = string.char(DIGITS[(value_2 - b_2) / 32 + 1], DIGITS[b_2 + 1], DIGITS[c_2 + 1], DIGITS[d_2 + 1], DIGITS[e_2 + 1])
 end
 bound = five_digits .. five_digits_2
end
now = now - 1
if redis.call('EXISTS', KEYS[64]) == 1 then
 do
  local message = 'left\t' .. ARGV[2] .. '\t' .. bound
  redis.call('ZADD', KEYS[66], now, message)
 end
end
if redis.call('EXISTS', KEYS[65]) == 1 then
 do
  local message_2 = 'lost\t' .. ARGV[2] .. '\t' .. bound
  redis.call('ZADD', KEYS[66], now, message_2)
 end
end
redis.call('HDEL', KEYS[31], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'k:' .. ARGV[2], 'l:' .. ARGV[2])
redis.call('ZREM', KEYS[29], ARGV[2])
redis.call('ZREM', KEYS[32], ARGV[2])
redis.call('ZREM', KEYS[33], ARGV[2])
redis.call('ZREM', KEYS[34], ARGV[2])
redis.call('ZREM', KEYS[30], ARGV[2])
if redis.call('HEXISTS', KEYS[31], 'p:' .. ARGV[2]) == 0 then
 redis.call('ZREM', KEYS[35], ARGV[2])
end
if count > 0 then
 do
  local line = 'destroyed\t\t' .. alive .. '\t\t\t' .. count .. '\t\t'
  event_lines[#event_lines + 1] = line
 end
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
  redis.call('XADD', KEYS[36], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[37], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[37], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[36], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[37], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[36], from, '+', 'COUNT', 100)
    for _, entry in ipairs(found) do
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
   redis.call('XTRIM', KEYS[36], 'MAXLEN', redis.call('XLEN', KEYS[36]) - entries)
   redis.call('HINCRBY', KEYS[37], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[37], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[37], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[37], 'events_dropped', dropped)
   redis.call('HSET', KEYS[37], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 count,
}
