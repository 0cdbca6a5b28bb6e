-- add_minutes: adds what queues recorded of their minutes to a sum over many queues, whose rows begin as theirs do:
-- seven counts, which are added, and the jobs by state, of which the latest hold. The first write frees.
-- KEYS
--   minutes      hash     minute → row; m the latest minute, g its jobs by state
-- ARGV
--   now_ms       ms or ""
--   keep         minutes
--   states       "" or the jobs by state now, for the running minute: six numbers with commas
--   ...          minute, seven counts with commas; and so on
-- REPLIES
--   ok           added    number of minutes
local function numbers_of(row)
  local found = {}
  for part in string.gmatch(row .. ',', '([^,]*),') do found[#found + 1] = part end
  return found
end

local function add_row(minute, counts, jobs_by_state)
  local row = numbers_of(redis.call('HGET', minutes, minute) or ',,,,,,,-,,,,,')
  for i, count in ipairs(numbers_of(counts)) do
    local sum = (tonumber(row[i]) or 0) + (tonumber(count) or 0)
    row[i] = sum > 0 and sum or ''
  end
  for i, count in ipairs(jobs_by_state) do row[7 + i] = tonumber(count) > 0 and count or '' end
  redis.call('HSET', minutes, minute, table.concat(row, ','))
end

local current = math.floor(now / 60000)
local latest = tonumber(redis.call('HGET', minutes, 'm')) or current
redis.call('HDEL', minutes, 'm')
for minute = math.max(latest, current - keep) - keep + 1, current - keep do redis.call('HDEL', minutes, minute) end
redis.call('HSET', minutes, 'm', math.max(latest, current))
redis.call('EXPIRE', minutes, keep * 60)
for at = REST, #ARGV, 2 do add_row(ARGV[at], ARGV[at + 1], {}) end
if states ~= '' then
  add_row(current, '', numbers_of(states))
  redis.call('HSET', minutes, 'g', states)
end
return {'ok', (#ARGV - REST + 1) / 2}
