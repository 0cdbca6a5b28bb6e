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

local function backoff_delay(kind, base, cap, n, id)
  if kind == 0 then return 0 end
  if kind == 1 then return base end
  if kind == 2 then return math.min(base * n, DELAY_MAX) end
  seed_jitter(id)
  if kind == 3 then
    local full = math.min(cap, base * 2 ^ math.min(n - 1, 63))
    return math.floor(full / 2 + math.random() * full / 2)
  end
  local retries = n - 1
  return math.min(math.floor((retries ^ 4 + 15 + math.random() * 30 * (retries + 1)) * 1000), DELAY_MAX)
end
