-- expiry: when the waiting jobs of a queue (ready, delayed, retry) expire. `h:QUEUE` in `flags` is the queue's horizon:
--   every waiting job that expires before it is in `expiring`, by time
-- so jobs that expire after those before them cost their queue nothing until the horizon comes; then lib/scan.lua looks at
-- all waiting jobs. Without a horizon no waiting job but those in `expiring` expires.
-- `sweeps` has a lower bound of the time at which a queue has work for the sweeper (lua/sweep.lua), which visits each
-- queue of `sweeps` every ten minutes anyway, for queues that have become empty leave their horizon behind.
local SWEEP_EVERY_MS = 600000

local function schedule_sweep(ms) redis.call('ZADD', sweeps, 'LT', math.min(ms, now + SWEEP_EVERY_MS), queue) end

-- Call when jobs begin to wait: ids[first] and those behind it, all of which expire at `expires` (not 0).
-- One that is due after it has expired would be overlooked by a scan, so it goes into `expiring` at once.
local function expect_expiry(expires, due_ms, ids, first)
  local horizon = redis.call('HGET', flags, 'h:' .. queue)
  if due_ms > expires or (horizon and expires < tonumber(horizon)) then
    local members = {}
    for i = first, #ids do
      members[#members + 1] = expires
      members[#members + 1] = ids[i]
    end
    redis.call('ZADD', expiring, unpack(members))
    schedule_sweep(expires)
  elseif not horizon then
    redis.call('HSET', flags, 'h:' .. queue, expires)
    schedule_sweep(expires)
  end
end

-- Idempotency keys: `k:QUEUE` in `flags` says when the sweeper is to look through them, and where it is (lib/keys.lua).
local function expect_key_expiry(expires)
  local look_at = math.min(expires, now + SWEEP_EVERY_MS)
  if redis.call('HSETNX', flags, 'k:' .. queue, string.format('%.0f 0 0', look_at)) == 1 then schedule_sweep(look_at) end
end
