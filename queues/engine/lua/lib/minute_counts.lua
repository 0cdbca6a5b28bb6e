-- minute_counts: counts per minute of the last ten, in one small hash per queue: field `MINUTE METRIC [BUCKET]`.
--   p published · w<b> consumed, by wait (due → consumed) · r<b> acked, by run (consumed → acked) · x expired
--   f attempts that failed · e those of them whose lease ran out · d jobs that died
--   l<b> made ready when due, by lateness (due → ready)
-- Bucket 0: under 1 ms; bucket b: up to 2^(b/4) ms, so a percentile read from it is at most 9 % off.
local STATS_MINUTES = 10
local QUARTER_OCTAVE = 0.17328679513998632 -- ln(2) / 4

-- A new minute: drops the fields of those that are too old. `active` lists the queues that have any, by the minute of
-- their latest: a queue whose jobs are taken as they come is hardly ever in the registry, and yet at work.
local function begin_minute(minute)
  if redis.call('HGET', stats, 'm') == tostring(minute) then return end
  for _, field in ipairs(redis.call('HKEYS', stats)) do
    local its = tonumber(string.match(field, '^%d+'))
    if its and its <= minute - STATS_MINUTES then redis.call('HDEL', stats, field) end
  end
  redis.call('HSET', stats, 'm', minute)
  redis.call('EXPIRE', stats, STATS_MINUTES * 60)
  redis.call('ZREMRANGEBYSCORE', active, '-inf', minute - STATS_MINUTES)
  redis.call('ZADD', active, minute, queue)
  redis.call('EXPIRE', active, STATS_MINUTES * 60)
end

-- Only a field's first count of a minute can have come with a new minute, so only then old ones are looked for.
local function count_stat(metric, count)
  local minute = math.floor(now / 60000)
  local field = string.format('%d', minute) .. metric
  if redis.call('HINCRBY', stats, field, count) == count then begin_minute(minute) end
end

local function bucket(ms)
  if ms < 1 then return 0 end
  return math.floor(math.log(ms) / QUARTER_OCTAVE + 1e-9) + 1
end

-- `durations`: list of ms
local function count_durations(metric, durations)
  if #durations == 1 then return count_stat(metric .. bucket(durations[1]), 1) end
  local of_ms, counts = {}, {}
  for i = 1, #durations do
    local ms = durations[i]
    of_ms[ms] = (of_ms[ms] or 0) + 1
  end
  for ms, count in pairs(of_ms) do
    local b = bucket(ms)
    counts[b] = (counts[b] or 0) + count
  end
  for b, count in pairs(counts) do count_stat(metric .. b, count) end
end
