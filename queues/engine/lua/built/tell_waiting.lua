--{"name": "tell_waiting", "purpose": "stores a web process's report on the consumers that wait there, and drops reports that are too old.", "keys": ["tellers", "told"], "args": ["now_ms", "process", "record", "forget", "most"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
do
 local times, records, one, record = KEYS[1], KEYS[2], ARGV[2], ARGV[3]
 do
  local some = {
   one,
  }
  for _, other in ipairs(some) do
   redis.call('HDEL', records, other)
   redis.call('ZREM', times, other)
  end
 end
 do
  local some_2 = redis.call('ZRANGEBYSCORE', times, '(' .. string.format('%.0f', now), '+inf')
  for __2, other_2 in ipairs(some_2) do
   redis.call('HDEL', records, other_2)
   redis.call('ZREM', times, other_2)
  end
 end
 if record ~= '' then
  redis.call('HSET', records, one, record)
  redis.call('ZADD', times, now, one)
 end
 local gone = redis.call('ZRANGEBYSCORE', times, '-inf', now - ARGV[4])
 local extra = redis.call('ZCARD', times) - #gone - ARGV[5]
 if extra > 0 then
  gone = redis.call('ZRANGE', times, 0, #gone + extra - 1)
 end
 do
  local some_3 = gone
  for __3, other_3 in ipairs(some_3) do
   redis.call('HDEL', records, other_3)
   redis.call('ZREM', times, other_3)
  end
 end
 redis.call('PEXPIRE', times, ARGV[4])
 redis.call('PEXPIRE', records, ARGV[4])
end
return {
 'ok',
 redis.call('ZCARD', KEYS[1]),
}
