-- tell_waiting: notes which consumers wait at a web process, and drops what other processes said too long ago. Bounded:
-- the longest unheard of are dropped if there are too many. The first write frees, so it goes on when Redis is full.
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
redis.call('HDEL', told, process)
redis.call('ZREM', tellers, process)
if record ~= '' then
  redis.call('HSET', told, process, record)
  redis.call('ZADD', tellers, now, process)
end
local gone = redis.call('ZRANGEBYSCORE', tellers, '-inf', now - forget)
local extra = redis.call('ZCARD', tellers) - #gone - most
if extra > 0 then gone = redis.call('ZRANGE', tellers, 0, #gone + extra - 1) end
for _, one in ipairs(gone) do
  redis.call('HDEL', told, one)
  redis.call('ZREM', tellers, one)
end
redis.call('PEXPIRE', told, forget)
redis.call('PEXPIRE', tellers, forget)
return {'ok', redis.call('ZCARD', tellers)}
