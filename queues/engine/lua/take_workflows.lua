-- take_workflows: takes workflows of a partition that have something to do, for the caller to do it. They are returned again
-- after `again` ms, in case the caller died. The first write frees.
-- KEYS
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   limit        workflows
--   again        ms        after which they are returned again
-- REPLIES
--   ok           name ...
local found = redis.call('ZRANGEBYSCORE', workflows, '-inf', now, 'LIMIT', 0, limit)
for _, name in ipairs(found) do
  redis.call('ZREM', workflows, name)
  redis.call('ZADD', workflows, now + tonumber(again), name)
end
return {'ok', unpack(found)}
