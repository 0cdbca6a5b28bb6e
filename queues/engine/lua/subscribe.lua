-- subscribe: subscribes jobs elsewhere to the ends of jobs of this queue, or answers how those have ended. Repeating it changes
-- nothing. Nothing is known of a job that is gone. A key that no job has is waited for.
-- KEYS
--   jobs         hash     whether a job is there
--   runs         hash     gets the mark that others depend on it
--   keys         hash     idempotency keys
--   dead         zset     whether it is dead
--   completed    zset     whether it is completed
--   batches      hash     whether a job has become part of a batch
--   dependants   zset     gets `JOB_ID⇥POLICY⇥QUEUE⇥ITS_JOB_ID⇥KEY`, or `:KEY⇥POLICY⇥QUEUE⇥ITS_JOB_ID⇥KEY`
-- ARGV
--   now_ms       ms or ""
--   ...          for each: job id here or ""; key or ""; policy (lib/waits.lua); namespace/queue and id of the job that depends on it
-- REPLIES
--   ok           outcome ...   waits: it will be told; acked, dead: it has ended so; gone: there is no such job any more;
--                unknown: no such id was given yet
-- INCLUDES ids record run dependency_marks
local reply = {'ok'}

local function outcome_of(id, its_key, policy, rest)
  local target = id
  if its_key ~= '' then
    local value = redis.call('HGET', keys, its_key)
    local expires, holder = 1, ''
    if value then expires, holder = struct.unpack('>I6c26', value) end
    if value and (expires == 0 or expires > now) then
      target = holder
      if not find_job(target) then return 'acked' end
    else
      redis.call('ZADD', dependants, 0, ':' .. its_key .. '\t' .. policy .. rest)
      return 'waits'
    end
  elseif not find_job(id) then
    return id_time(id) > now and 'unknown' or 'gone'
  end
  local found = find_job(target)
  if redis.call('ZSCORE', completed, found) then return 'acked' end
  if policy ~= 'w' and redis.call('ZSCORE', dead, found) then return 'dead' end
  redis.call('ZADD', dependants, 0, target .. '\t' .. policy .. rest)
  mark_run(found)
  return 'waits'
end

for i = REST, #ARGV, 5 do
  local its_key = ARGV[i + 1]
  reply[#reply + 1] = outcome_of(ARGV[i], its_key, ARGV[i + 2], '\t' .. ARGV[i + 3] .. '\t' .. ARGV[i + 4] .. '\t' .. its_key)
end
return reply
