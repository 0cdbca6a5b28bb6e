-- command_workers: gives a command to workers. Those that are connected hear of it at once, others with their next beat.
-- KEYS
--   commands     zset     command of one namespace → when it was given, ms
-- ARGV
--   now_ms       ms or ""
--   workers_on   channel that workers listen on
--   command      KIND, a tab, NAMESPACE/TARGET, a tab, what tells it from an equal one
--   keep         ms       for so long it is told to workers that beat
--   most         commands that are kept
-- REPLIES
--   ok           listeners    connections that heard of it
redis.call('ZREMRANGEBYSCORE', commands, '-inf', now - keep)
local extra = redis.call('ZCARD', commands) - most + 1
if extra > 0 then redis.call('ZPOPMIN', commands, extra) end
redis.call('ZADD', commands, now, command)
redis.call('PEXPIRE', commands, keep)
return {'ok', redis.call('PUBLISH', workers_on, command)}
