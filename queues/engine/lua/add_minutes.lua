-- add_minutes: adds what queues recorded of their minutes to a sum over many queues. Rows begin as those of lib/trend do:
-- seven counts, which are added, and the jobs by state, of which the latest hold. Then `|` and the histograms of durations,
-- `METRIC BUCKET:COUNT` each as in lib/minute_counts, which are added too. Each minute is also added to its five minutes,
-- which are what is read of longer times. The first write frees.
-- KEYS
--   minutes      hash     minute → row; `f` and a number of five minutes → row; m the latest minute, g its jobs by state
-- ARGV
--   now_ms       ms or ""
--   keep         minutes
--   states       "" or the jobs by state now, for the running minute: six numbers with commas
--   ...          minute, seven counts with commas, histograms with blanks; and so on
-- REPLIES
--   ok           added    number of minutes
local FIVE = 5

local function numbers_of(row)
  local found = {}
  for part in string.gmatch(row .. ',', '([^,]*),') do found[#found + 1] = part end
  return found
end

local function add_durations(known, added)
  if added == '' then return known end
  local sums = {}
  for place, count in string.gmatch(known, '(%l%d+):(%d+)') do sums[place] = tonumber(count) end
  for place, count in string.gmatch(added, '(%l%d+):(%d+)') do sums[place] = (sums[place] or 0) + tonumber(count) end
  local parts = {}
  for place, count in pairs(sums) do parts[#parts + 1] = place .. ':' .. string.format('%d', count) end
  return table.concat(parts, ' ')
end

local function add_row(field, counts, durations, jobs_by_state)
  local before = redis.call('HGET', minutes, field) or ',,,,,,,-,,,,,'
  local bar = string.find(before, '|', 1, true)
  local known = bar and string.sub(before, bar + 1) or ''
  local row = numbers_of(bar and string.sub(before, 1, bar - 1) or before)
  for i, count in ipairs(numbers_of(counts)) do
    local sum = (tonumber(row[i]) or 0) + (tonumber(count) or 0)
    row[i] = sum > 0 and sum or ''
  end
  for i, count in ipairs(jobs_by_state) do row[7 + i] = tonumber(count) > 0 and count or '' end
  known = add_durations(known, durations)
  redis.call('HSET', minutes, field, table.concat(row, ',') .. (known ~= '' and '|' .. known or ''))
end

local function five_of(minute) return 'f' .. string.format('%d', math.floor(minute / FIVE)) end

local current = math.floor(now / 60000)
local latest = tonumber(redis.call('HGET', minutes, 'm')) or current
redis.call('HDEL', minutes, 'm')
for minute = math.max(latest, current - keep) - keep + 1, current - keep do
  redis.call('HDEL', minutes, minute)
  if minute % FIVE == FIVE - 1 then redis.call('HDEL', minutes, five_of(minute)) end
end
redis.call('HSET', minutes, 'm', math.max(latest, current))
redis.call('EXPIRE', minutes, keep * 60)
for at = REST, #ARGV, 3 do
  add_row(ARGV[at], ARGV[at + 1], ARGV[at + 2], {})
  add_row(five_of(tonumber(ARGV[at])), ARGV[at + 1], ARGV[at + 2], {})
end
if states ~= '' then
  add_row(current, '', '', numbers_of(states))
  add_row(five_of(current), '', '', numbers_of(states))
  redis.call('HSET', minutes, 'g', states)
end
return {'ok', (#ARGV - REST + 1) / 3}
