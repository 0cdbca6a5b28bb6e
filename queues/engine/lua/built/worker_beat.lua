--{"name": "worker_beat", "purpose": "stores a worker's heartbeat, and replies with the commands that were given since its last one.", "keys": ["spaces", "workers", "beats", "commands"], "args": ["now_ms", "namespace", "worker", "record", "forget", "most", "since", "told"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
do
 local times, records, one, record = KEYS[2], KEYS[3], ARGV[3], ARGV[4]
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
 local gone = redis.call('ZRANGEBYSCORE', times, '-inf', now - ARGV[5])
 local extra = redis.call('ZCARD', times) - #gone - ARGV[6]
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
 redis.call('PEXPIRE', times, ARGV[5])
 redis.call('PEXPIRE', records, ARGV[5])
end
if ARGV[4] ~= '' then
 redis.call('ZADD', KEYS[1], now, ARGV[2])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
local reply = {
 'ok',
 now,
}
if tonumber(ARGV[7]) > 0 then
 local latest = redis.call('ZREVRANGEBYSCORE', KEYS[4], '+inf', ARGV[7], 'LIMIT', 0, ARGV[8])
 for i = #latest, 1, -1 do
  reply[#reply + 1] = latest[i]
 end
end
return reply
