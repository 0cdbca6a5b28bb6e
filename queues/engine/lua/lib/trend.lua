-- trend: the activity of one queue in each whole minute, in a small hash: field MINUTE, and
--   m  the latest minute that was looked at · g  the jobs by state when that was
-- A row is `published,consumed,acked,failed,leases lost,died,expired` `,ready,delayed,retry,working,dead,completed` at
-- the minute's end `,p50,p95,p99` of waits `,p50,p95,p99` of runs, as buckets of lib/minute_counts. Zeros are left out;
-- `-` for ready: the six are not known. A minute without a row: nothing happened, and the jobs by state stayed as before.
-- INCLUDES minute_counts
local TREND_MINUTES = 180
local NO_JOBS = '0,0,0,0,0,0'
local COUNTED = 'pwrfedx'

-- `fields`: the hash `stats` → minute → metric → {total, buckets}, of the minutes first..last
local function counts_of(fields, first, last)
  local found = {}
  for i = 1, #fields, 2 do
    local its, metric, its_bucket = string.match(fields[i], '^(%d+)(%l)(%d*)$')
    its = tonumber(its)
    if its and its >= first and its <= last then
      found[its] = found[its] or {}
      local counts = found[its][metric] or {total = 0, buckets = {}}
      found[its][metric] = counts
      counts.total = counts.total + tonumber(fields[i + 1])
      counts.buckets[#counts.buckets + 1] = {tonumber(its_bucket) or 0, tonumber(fields[i + 1])}
    end
  end
  return found
end

local function write_ranks(row, counts)
  if not counts then
    row[#row + 1] = ',,'
    return
  end
  table.sort(counts.buckets, function(one, other) return one[1] < other[1] end)
  for _, percent in ipairs({50, 95, 99}) do
    local seen, at = 0, 0
    repeat
      at = at + 1
      seen = seen + counts.buckets[at][2]
    until seen * 100 >= counts.total * percent or at == #counts.buckets
    row[#row + 1] = counts.buckets[at][1] + 1
  end
end

-- `states`: jobs by state, or nil if they are not known
local function row_of(counts, states)
  local row = {}
  for metric in string.gmatch(COUNTED, '.') do row[#row + 1] = counts[metric] and counts[metric].total or '' end
  for _, jobs_in_state in ipairs(states or {}) do row[#row + 1] = jobs_in_state > 0 and jobs_in_state or '' end
  if not states then row[#row + 1] = '-,,,,,' end
  write_ranks(row, counts.w)
  write_ranks(row, counts.r)
  return table.concat(row, ',')
end

-- Records the minutes since the latest that was. → {minute, row, ...}. Writes nothing for a queue where nothing happens.
-- The first write frees, so it goes on when Redis is full.
local function record_minutes(fields, states)
  local last = math.floor(now / 60000) - 1
  local before = redis.call('HMGET', trend, 'm', 'g')
  local done = tonumber(before[1]) or 0
  local jobs_by_state = table.concat(states, ',')
  local changed = (before[2] or NO_JOBS) ~= jobs_by_state
  if done >= last or (#fields == 0 and not changed) then return {} end
  redis.call('HDEL', trend, 'm')
  if done > 0 then
    for its = math.max(done, last - TREND_MINUTES) - TREND_MINUTES + 1, last - TREND_MINUTES do
      redis.call('HDEL', trend, its)
    end
  end
  local first = math.max(done + 1, last - STATS_MINUTES + 2)
  local counted = counts_of(fields, first, last + 1)
  -- A change in the running minute does not belong to the one before.
  local knows = counted[last] or (changed and not counted[last + 1])
  local recorded = {}
  for its = first, last do
    if counted[its] or (its == last and knows) then
      local row = row_of(counted[its] or {}, its == last and states or nil)
      redis.call('HSET', trend, its, row)
      recorded[#recorded + 1] = its
      recorded[#recorded + 1] = row
    end
  end
  redis.call('HSET', trend, 'm', last)
  if knows then redis.call('HSET', trend, 'g', jobs_by_state) end
  redis.call('EXPIRE', trend, TREND_MINUTES * 60)
  return recorded
end
