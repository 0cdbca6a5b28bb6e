--{"name": "add_minutes", "purpose": "adds what queues recorded of their minutes to a sum over many queues. Rows begin as those of lib/trend do:", "keys": ["minutes"], "args": ["now_ms", "keep", "states"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function numbers_of(row)
 local found = {
 }
 for part in string.gmatch(row .. ',', '([^,]*),') do
  found[#found + 1] = part
 end
 return found
end
local function add_row(field, counts, durations, jobs_by_state)
 local before = redis.call('HGET', KEYS[1], field) or ',,,,,,,-,,,,,'
 local bar = string.find(before, '|', 1, true)
 local known = bar and string.sub(before, bar + 1) or ''
 local row_2
 do
  local row_3 = bar and string.sub(before, 1, bar - 1) or before
  local found_2 = {
  }
  for part_2 in string.gmatch(row_3 .. ',', '([^,]*),') do
   found_2[#found_2 + 1] = part_2
  end
  row_2 = found_2
 end
 local numbers_of_2
 do
  local found_3 = {
  }
  for part_3 in string.gmatch(counts .. ',', '([^,]*),') do
   found_3[#found_3 + 1] = part_3
  end
  numbers_of_2 = found_3
 end
 for i, count in ipairs(numbers_of_2) do
  local sum = (tonumber(row_2[i]) or 0) + (tonumber(count) or 0)
  row_2[i] = sum > 0 and sum or ''
 end
 for i_2, count_2 in ipairs(jobs_by_state) do
  row_2[7 + i_2] = tonumber(count_2) > 0 and count_2 or ''
 end
 do
  local result
  repeat
   local known_2 = known
   if durations == '' then
    result = known_2
    break
   end
   local sums = {
   }
   for place, count_3 in string.gmatch(known_2, '(%l%d+):(%d+)') do
    sums[place] = tonumber(count_3)
   end
   for place_2, count_4 in string.gmatch(durations, '(%l%d+):(%d+)') do
    sums[place_2] = (sums[place_2] or 0) + tonumber(count_4)
   end
   local parts = {
   }
   for place_3, count_5 in pairs(sums) do
    parts[#parts + 1] = place_3 .. ':' .. string.format('%d', count_5)
   end
   result = table.concat(parts, ' ')
  until true
  known = result
 end
 redis.call('HSET', KEYS[1], field, table.concat(row_2, ',') .. (known ~= '' and '|' .. known or ''))
end
local current = math.floor(now / 60000)
local latest = tonumber(redis.call('HGET', KEYS[1], 'm')) or current
redis.call('HDEL', KEYS[1], 'm')
for minute = math.max(latest, current - ARGV[2]) - ARGV[2] + 1, current - ARGV[2] do
 redis.call('HDEL', KEYS[1], minute)
 if minute % 5 == 5 - 1 then
  redis.call('HDEL', KEYS[1], ('f' .. string.format('%d', math.floor(minute / 5))))
 end
end
redis.call('HSET', KEYS[1], 'm', math.max(latest, current))
redis.call('EXPIRE', KEYS[1], ARGV[2] * 60)
for at = 4, #ARGV, 3 do
 add_row(ARGV[at], ARGV[at + 1], ARGV[at + 2], {
 })
 local five_of
 do
  local minute_2 = tonumber(ARGV[at])
  five_of = 'f' .. string.format('%d', math.floor(minute_2 / 5))
 end
 add_row(five_of, ARGV[at + 1], ARGV[at + 2], {
 })
end
if ARGV[3] ~= '' then
 local numbers_of_3
 do
  local found_4 = {
  }
  for part_4 in string.gmatch(ARGV[3] .. ',', '([^,]*),') do
   found_4[#found_4 + 1] = part_4
  end
  numbers_of_3 = found_4
 end
 add_row(current, '', '', numbers_of_3)
 add_row(('f' .. string.format('%d', math.floor(current / 5))), '', '', numbers_of(ARGV[3]))
 redis.call('HSET', KEYS[1], 'g', ARGV[3])
end
return {
 'ok',
 (#ARGV - 4 + 1) / 3,
}
