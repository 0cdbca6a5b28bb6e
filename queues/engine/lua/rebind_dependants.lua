-- rebind_dependants: jobs elsewhere depend on a key whose job has gone without an ack, and wait for another job with it:
-- the one that has it now, or else the next. Repeating it changes nothing.
-- KEYS
--   jobs         hash     whether a job is there
--   runs         hash     gets the mark that others depend on it
--   keys         hash     idempotency keys
--   dependants   zset     who depends on jobs of this queue
-- ARGV
--   ...          members
-- REPLIES
--   ok
-- INCLUDES ids record run depended
for i = REST, #ARGV do
  local target, rest, its_key = string.match(ARGV[i], '^(%w+)(\t.*\t([^\t]+))$')
  if target and redis.call('ZREM', dependants, ARGV[i]) == 1 then
    local value = redis.call('HGET', keys, its_key)
    local holder = value and string.sub(value, 7, 32)
    if holder and holder ~= target and redis.call('HEXISTS', jobs, holder) == 1 then
      redis.call('ZADD', dependants, 0, holder .. rest)
      mark_run(holder)
    else
      redis.call('ZADD', dependants, 0, ':' .. its_key .. rest)
    end
  end
end
return {'ok'}
