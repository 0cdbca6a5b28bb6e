-- unsubscribe: unsubscribes jobs elsewhere that do not depend on jobs of this queue any more. The first write frees.
-- KEYS
--   keys         hash     idempotency keys
--   dependants   zset     jobs that depend on jobs of this queue
-- ARGV
--   ...          as in subscribe: job id or ""; key or ""; policy; namespace/queue and id of the job that depended on it
-- REPLIES
--   ok
for i = REST, #ARGV, 5 do
  local id, its_key = ARGV[i], ARGV[i + 1]
  local rest = '\t' .. ARGV[i + 2] .. '\t' .. ARGV[i + 3] .. '\t' .. ARGV[i + 4] .. '\t' .. its_key
  if its_key ~= '' then
    redis.call('ZREM', dependants, ':' .. its_key .. rest)
    local value = redis.call('HGET', keys, its_key)
    id = value and string.sub(value, 7, 32) or ''
  end
  if id ~= '' then redis.call('ZREM', dependants, id .. rest) end
end
return {'ok'}
