-- process_reports: which processes reported lately, and what. Bounded: a process that was silent for `forget` ms is forgotten,
-- and if there are more than `most`, those that were silent for longest. Reports later than now were sent before the clock
-- was put back: they are forgotten, too, and a process that lives reports again.

-- Records what the process `one` reports; "" = it ends. `times`: zset, `records`: hash. The first write frees memory, so it
-- works on a full Redis, too.
local function hear(times, records, one, record)
  local function drop(some)
    for _, other in ipairs(some) do
      redis.call('HDEL', records, other)
      redis.call('ZREM', times, other)
    end
  end

  drop({one})
  drop(redis.call('ZRANGEBYSCORE', times, '(' .. string.format('%.0f', now), '+inf'))
  if record ~= '' then
    redis.call('HSET', records, one, record)
    redis.call('ZADD', times, now, one)
  end
  local gone = redis.call('ZRANGEBYSCORE', times, '-inf', now - forget)
  local extra = redis.call('ZCARD', times) - #gone - most
  if extra > 0 then gone = redis.call('ZRANGE', times, 0, #gone + extra - 1) end
  drop(gone)
  redis.call('PEXPIRE', times, forget)
  redis.call('PEXPIRE', records, forget)
end
