-- registry: `queues` lists exactly the queues that hold a job or an idempotency key, or are paused.

-- Call after adding: `added` jobs are new, so a queue that holds no more than these has just come into being.
local function enrol(added)
  if redis.call('HLEN', jobs) == added then redis.call('ZADD', queues, 0, queue) end
end

-- Call after removing: an empty queue leaves nothing behind (but idempotency keys until their time, a pause, statistics).
local function forget_if_empty()
  if redis.call('EXISTS', jobs) == 1 then return end
  redis.call('DEL', ready, front)
  redis.call('HDEL', flags, 't:' .. queue, 'h:' .. queue, 's:' .. queue, 'l:' .. queue)
  redis.call('ZREM', due, queue)
  redis.call('ZREM', ends, queue)
  if redis.call('EXISTS', keys) == 0 and redis.call('HEXISTS', flags, 'p:' .. queue) == 0 then
    redis.call('ZREM', queues, queue)
  end
end
