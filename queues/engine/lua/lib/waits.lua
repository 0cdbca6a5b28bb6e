-- waits: what blocked jobs wait for: a zset in name order, members `JOB_ID⇥STATE POLICY DEPENDENCY`.
--   STATE   ? it is not subscribed to the dependency yet · + it is · - the dependency has gone without an ack
--   POLICY  what its failure means: w wait · f fail · c continue
--   DEPENDENCY   QUEUE/JOB_ID or QUEUE:KEY
-- A job is blocked as long as it has a member. A job that is not blocked is to be unsubscribed from those that its members name.
-- An open job, which takes more dependencies, has the member `JOB_ID⇥+POLICY` beside them, without a dependency: its mark.
-- INCLUDES outgoing
local function first_wait(id, its_state)
  return redis.call('ZRANGEBYLEX', waits, '[' .. id .. '\t' .. its_state,
    its_state == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. its_state .. '\255', 'LIMIT', 0, 1)[1]
end

-- The mark of an open job, or nil. All members of a job have the same policy, so it is the first of them.
local function open_mark(id)
  local first = first_wait(id, '')
  return first and #first == #id + 3 and first or nil
end

-- Whether the job's messages have been carried completely. `left`: a member of it, or nil.
local function is_carried(id, is_blocked, left) return not left or is_blocked and not first_wait(id, '?') end

-- Drops the job's messages if they have been carried completely.
local function end_message(id)
  if is_carried(id, redis.call('ZSCORE', blocked, id), first_wait(id, '')) then
    redis.call('ZREM', outgoing, waits_message(id), added_message(id))
  end
end
