--{"name": "add_minutes", "purpose": "adds what queues recorded of their minutes to a sum over many queues, whose rows begin as theirs do:", "keys": ["minutes"], "args": ["now_ms", "keep", "states"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local current = math.floor(now / 60000)
local latest = tonumber(redis.call('HGET', KEYS[1], 'm')) or current
redis.call('HDEL', KEYS[1], 'm')
for minute = math.max(latest, current - ARGV[2]) - ARGV[2] + 1, current - ARGV[2] do
 redis.call('HDEL', KEYS[1], minute)
end
redis.call('HSET', KEYS[1], 'm', math.max(latest, current))
redis.call('EXPIRE', KEYS[1], ARGV[2] * 60)
for at = 4, #ARGV, 2 do
 do
  local minute_2, counts, jobs_by_state = ARGV[at], ARGV[at + 1], {
  }
  local row
  do
   local row_2 = redis.call('HGET', KEYS[1], minute_2) or ',,,,,,,-,,,,,'
   local found = {
   }
   for part in string.gmatch(row_2 .. ',', '([^,]*),') do
    found[#found + 1] = part
   end
   row = found
  end
  local numbers_of
  do
   local found_2 = {
   }
   for part_2 in string.gmatch(counts .. ',', '([^,]*),') do
    found_2[#found_2 + 1] = part_2
   end
   numbers_of = found_2
  end
  for i, count in ipairs(numbers_of) do
   local sum = (tonumber(row[i]) or 0) + (tonumber(count) or 0)
   row[i] = sum > 0 and sum or ''
  end
  for i_2, count_2 in ipairs(jobs_by_state) do
   row[7 + i_2] = tonumber(count_2) > 0 and count_2 or ''
  end
  redis.call('HSET', KEYS[1], minute_2, table.concat(row, ','))
 end
end
if ARGV[3] ~= '' then
 do
  local jobs_by_state_2
  do
   local found_3 = {
   }
   for part_3 in string.gmatch(ARGV[3] .. ',', '([^,]*),') do
    found_3[#found_3 + 1] = part_3
   end
   jobs_by_state_2 = found_3
  end
  local row_3
  do
   local row_4 = redis.call('HGET', KEYS[1], current) or ',,,,,,,-,,,,,'
   local found_4 = {
   }
   for part_4 in string.gmatch(row_4 .. ',', '([^,]*),') do
    found_4[#found_4 + 1] = part_4
   end
   row_3 = found_4
  end
  local numbers_of_2
  do
   local found_5 = {
   }
   for part_5 in string.gmatch('' .. ',', '([^,]*),') do
    found_5[#found_5 + 1] = part_5
   end
   numbers_of_2 = found_5
  end
  for i_3, count_3 in ipairs(numbers_of_2) do
   local sum_2 = (tonumber(row_3[i_3]) or 0) + (tonumber(count_3) or 0)
   row_3[i_3] = sum_2 > 0 and sum_2 or ''
  end
  for i_4, count_4 in ipairs(jobs_by_state_2) do
   row_3[7 + i_4] = tonumber(count_4) > 0 and count_4 or ''
  end
  redis.call('HSET', KEYS[1], current, table.concat(row_3, ','))
 end
 redis.call('HSET', KEYS[1], 'g', ARGV[3])
end
return {
 'ok',
 (#ARGV - 4 + 1) / 2,
}
