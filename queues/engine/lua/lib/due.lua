-- due: the partition's two indexes hold for each queue a lower bound of its next event: `due` for delayed and retry,
-- `ends` for leases and retentions. Scripts only lower a bound (ZADD LT); the role that visits sets the true value.

-- → whether this is now the queue's earliest event
local function lower_index(index, ms) return redis.call('ZADD', index, 'LT', 'CH', ms, queue) == 1 end

-- A job of this queue becomes due at `ms`.
local function expect_due(ms)
  if lower_index(due, ms) then wake_due(ms) end
end

local function head_score(key)
  local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return head[2] and tonumber(head[2])
end

-- Sets the bound to the earliest of both sets, or removes it. → that time or nil
local function reset_index(index, one, other)
  local a, b = head_score(one), head_score(other)
  local earliest = a and b and math.min(a, b) or a or b
  redis.call('ZREM', index, queue) -- first, so that a full Redis lets the ZADD through
  if earliest then redis.call('ZADD', index, earliest, queue) end
  return earliest
end
