-- backoff: ms to wait after attempt n failed (queues/engine/backoff.py documents the policies). Kinds are numbered there.
-- Redis seeds math.random the same for every script call, so the jitter is seeded from the clock's microseconds and the id.
-- In one call the clock may stand still (Redis 7, Valkey). The factor is larger than the ids' characters are apart: with
-- 31, jobs whose ids differ in their last two characters got the same seed.
local function seed_jitter(id)
  local sum = redis.call('TIME')[2] + 0
  for i = 11, #id do sum = sum * 257 % 2147483647 + string.byte(id, i) end
  math.randomseed(sum)
end

local DELAY_MAX = 4294967295000 -- 2^32-1 s, the contract's longest delay

-- The least and the most ms that the policy may answer.
local function backoff_range(kind, base, cap, n)
  if kind == 0 then return 0, 0 end
  if kind == 1 then return base, base end
  if kind == 2 then
    local delay = math.min(base * n, DELAY_MAX)
    return delay, delay
  end
  if kind == 3 then
    local full = math.min(cap, base * 2 ^ math.min(n - 1, 63))
    return full / 2, full
  end
  local retries = n - 1
  local least = math.min((retries ^ 4 + 15) * 1000, DELAY_MAX)
  return least, math.min(least + 30000 * (retries + 1), DELAY_MAX)
end

local function backoff_delay(kind, base, cap, n, id)
  local least, most = backoff_range(kind, base, cap, n)
  if least == most then return least end
  seed_jitter(id)
  return math.floor(least + math.random() * (most - least))
end
