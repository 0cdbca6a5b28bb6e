-- worker_beat: notes that a worker lives and what it does, and tells it of the commands since its last beat. Bounded: the
-- workers that were not heard of for longest are forgotten if there are too many, as are those silent for too long and those
-- that spoke later than now, before the clock was put back. The first write frees, so it goes on when Redis is full.
-- KEYS
--   spaces       zset     namespace → time of its workers' latest beat
--   workers      zset     of the namespace: namespace/worker → time of its latest beat
--   beats        hash     namespace/worker → its record
--   commands     zset     command of the worker's namespace → when it was given, ms
-- ARGV
--   now_ms       ms or ""
--   namespace
--   worker       namespace/id of the worker
--   record       bytes    what it says of itself; "" = it ends
--   forget       ms       after which nothing is known of a worker any more
--   most         workers
--   since        ms       commands given at that time or later are told; 0 = none, to a worker that has just begun
--   told         commands at the most, the latest
-- REPLIES
--   ok           now command ...
local function drop(some)
  for _, one in ipairs(some) do
    redis.call('HDEL', beats, one)
    redis.call('ZREM', workers, one)
  end
end

drop({worker})
drop(redis.call('ZRANGEBYSCORE', workers, '(' .. string.format('%.0f', now), '+inf'))
if record ~= '' then
  redis.call('HSET', beats, worker, record)
  redis.call('ZADD', workers, now, worker)
  redis.call('ZADD', spaces, now, namespace)
end
redis.call('ZREMRANGEBYSCORE', spaces, '-inf', now - forget)
redis.call('PEXPIRE', spaces, forget)
local gone = redis.call('ZRANGEBYSCORE', workers, '-inf', now - forget)
local extra = redis.call('ZCARD', workers) - #gone - most
if extra > 0 then gone = redis.call('ZRANGE', workers, 0, #gone + extra - 1) end
drop(gone)
redis.call('PEXPIRE', workers, forget)
redis.call('PEXPIRE', beats, forget)
local reply = {'ok', now}
if tonumber(since) > 0 then
  local latest = redis.call('ZREVRANGEBYSCORE', commands, '+inf', since, 'LIMIT', 0, told)
  for i = #latest, 1, -1 do reply[#reply + 1] = latest[i] end
end
return reply
