-- tell_waiting: notes which consumers wait at a web process, and drops what other processes said too long ago. Bounded:
-- the longest unheard of are dropped if there are too many. So are processes that spoke later than now, before the clock was
-- put back: who lives speaks again. The first write frees, so it goes on when Redis is full.
-- KEYS
--   tellers      zset     process → time of its latest word
--   told         hash     process → its record
-- ARGV
--   now_ms       ms or ""
--   process      id of the process
--   record       bytes    what it says; "" = nobody waits there any more
--   forget       ms       after which nothing is known of a process any more
--   most         processes
-- REPLIES
--   ok           kept     number of processes that are known
local function drop(processes)
  for _, one in ipairs(processes) do
    redis.call('HDEL', told, one)
    redis.call('ZREM', tellers, one)
  end
end

drop({process})
drop(redis.call('ZRANGEBYSCORE', tellers, '(' .. string.format('%.0f', now), '+inf'))
if record ~= '' then
  redis.call('HSET', told, process, record)
  redis.call('ZADD', tellers, now, process)
end
local gone = redis.call('ZRANGEBYSCORE', tellers, '-inf', now - forget)
local extra = redis.call('ZCARD', tellers) - #gone - most
if extra > 0 then gone = redis.call('ZRANGE', tellers, 0, #gone + extra - 1) end
drop(gone)
redis.call('PEXPIRE', told, forget)
redis.call('PEXPIRE', tellers, forget)
return {'ok', redis.call('ZCARD', tellers)}
