-- expiry_horizon: when waiting jobs of a queue (ready, delayed, retry) expire. `h:QUEUE` in `flags` is the queue's horizon:
--   every waiting job that expires before it is in `expiring`, by time
-- so jobs that expire after those before them cost their queue nothing until the horizon comes; then lib/scan.lua looks at
-- all waiting jobs. Without a horizon no waiting job but those in `expiring` expires.
-- `sweeps` has a lower bound of the time at which a queue has work for the sweeper (lua/sweep.lua). It is at most ten
-- minutes ahead: then the sweeper finds that the queue has become empty.
local SWEEP_EVERY_MS = 600000

local function schedule_sweep(ms) redis.call('ZADD', sweeps, 'LT', math.min(ms, now + SWEEP_EVERY_MS), queue) end

-- A queue with many jobs is scanned so long before its horizon that all of them are known when they expire: consume then
-- says that none is left without a step over each.
local MANY_JOBS = 500
local SCAN_EARLY_MS = 10000

local function scan_at(horizon, size) return size > MANY_JOBS and horizon - SCAN_EARLY_MS or tonumber(horizon) end

-- Call when a queue with a horizon has grown by `change` to `size` jobs.
local function expect_scan(horizon, size, change)
  if size % MANY_JOBS < change then schedule_sweep(scan_at(horizon, size)) end
end

-- Call when jobs begin to wait: ids[first] and those behind it, all of which expire at `expires` (not 0).
-- One that is due after it has expired would be overlooked by a scan, so it goes into `expiring` at once.
-- → the horizon that the queue had before, or false; a queue that had one is in the registry
local function expect_expiry(expires, due_ms, ids, first)
  local horizon = redis.call('HGET', flags, 'h:' .. queue)
  if horizon and expires >= tonumber(horizon) and due_ms <= expires then return horizon end
  if horizon or due_ms > expires then
    local members = {}
    for i = first, #ids do
      members[#members + 1] = expires
      members[#members + 1] = ids[i]
    end
    redis.call('ZADD', expiring, unpack(members))
  else
    redis.call('HSET', flags, 'h:' .. queue, expires)
  end
  schedule_sweep(expires)
  return horizon
end
