-- rebind_dependants: has jobs that depend on a key wait for another job with it, after one has gone without an ack: for the job that
-- has the key now, or else the next. Repeating it changes nothing.
-- KEYS
--   jobs         hash     whether a job is there
--   runs         hash     gets the mark that others depend on it
--   keys         hash     idempotency keys
--   completed    zset     whether it is completed
--   batches      hash     whether it has become part of a batch
--   dependants   zset     jobs that depend on jobs of this queue
-- ARGV
--   ...          members
-- REPLIES
--   ok           outcome ...   waits; acked: the job that has the key now has been, and the member is left as it is
-- INCLUDES ids record run dependency_marks
local reply = {'ok'}

local function rebind(member)
  local target, rest, its_key = string.match(member, '^(%w+)(\t.*\t([^\t]+))$')
  if not target or not redis.call('ZSCORE', dependants, member) then return 'waits' end
  local value = redis.call('HGET', keys, its_key)
  local holder = value and string.sub(value, 7, 32)
  local found = holder and holder ~= target and find_job(holder)
  if found and redis.call('ZSCORE', completed, found) then return 'acked' end
  redis.call('ZREM', dependants, member)
  redis.call('ZADD', dependants, 0, (found and holder or ':' .. its_key) .. rest)
  if found then mark_run(found) end
  return 'waits'
end

for i = REST, #ARGV do reply[#reply + 1] = rebind(ARGV[i]) end
return reply
