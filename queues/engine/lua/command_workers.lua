-- command_workers: sends a command to workers. Subscribed ones receive it at once, others in reply to their next heartbeat.
-- KEYS
--   commands     zset     command of one namespace → when it was given, ms
-- ARGV
--   now_ms       ms or ""
--   workers_on   channel that workers listen on
--   command      KIND, a tab, NAMESPACE/TARGET, a tab, what makes it unique
--   keep         ms       for which workers receive it with their heartbeats
--   most         commands that are kept
-- REPLIES
--   ok           listeners    connections that received it
redis.call('ZREMRANGEBYSCORE', commands, '-inf', now - keep)
local extra = redis.call('ZCARD', commands) - most + 1
if extra > 0 then redis.call('ZPOPMIN', commands, extra) end
redis.call('ZADD', commands, now, command)
redis.call('PEXPIRE', commands, keep)
return {'ok', redis.call('PUBLISH', workers_on, command)}
