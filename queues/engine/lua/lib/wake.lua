-- wake: messages to waiting consumers, sent only for queues that somebody waits on. `waiting` says until when.
local function is_waited_for(waiting, queue, now)
  local mark = redis.call('ZSCORE', waiting, queue)
  return mark and tonumber(mark) > now
end

local function wake_ready(waiting, channel, queue, count, now)
  if is_waited_for(waiting, queue, now) then
    redis.call('PUBLISH', channel, 'ready\t' .. queue .. '\t' .. count)
  end
end

-- The queue's next due time moved to `due`: who sleeps until a later one must know.
local function wake_due(waiting, channel, queue, due, now)
  if is_waited_for(waiting, queue, now) then
    redis.call('PUBLISH', channel, 'due\t' .. queue .. '\t' .. due)
  end
end

-- Notes that somebody waits until `mark` ms from now. Dropping old marks first lets the ZADD through on a full Redis.
local function mark_waiting(waiting, queue, now, mark)
  redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now)
  redis.call('ZADD', waiting, 'GT', now + mark, queue)
end
