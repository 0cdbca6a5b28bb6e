-- wake: messages to waiting consumers, sent only for queues on which consumers wait. `waiting` says until when.
local function is_waited_for()
  local mark = redis.call('ZSCORE', waiting, queue)
  return mark and tonumber(mark) > now
end

local function wake_ready(count)
  if is_waited_for() then redis.call('PUBLISH', channel, 'ready\t' .. queue .. '\t' .. count) end
end

-- The queue's next due time moved to `due_ms`: consumers that sleep until a later one have to learn of it.
local function wake_due(due_ms)
  if is_waited_for() then redis.call('PUBLISH', channel, 'due\t' .. queue .. '\t' .. due_ms) end
end

-- Records that a consumer waits until `mark` ms from now. Dropping old marks first lets the ZADD through on a full Redis.
local function mark_waiting(mark)
  redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now)
  redis.call('ZADD', waiting, 'GT', now + mark, queue)
end
