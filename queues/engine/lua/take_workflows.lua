-- take_workflows: workflows of a partition with something to do, which is for the caller to do. If it dies, they come again. The
-- first write frees.
-- KEYS
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   limit        workflows
--   again        ms        after which they come again
-- REPLIES
--   ok           name ...
local found = redis.call('ZRANGEBYSCORE', workflows, '-inf', now, 'LIMIT', 0, limit)
for _, name in ipairs(found) do
  redis.call('ZREM', workflows, name)
  redis.call('ZADD', workflows, now + tonumber(again), name)
end
return {'ok', unpack(found)}
