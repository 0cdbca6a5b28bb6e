-- outgoing: messages to other partitions about jobs of this one. The script that causes a message writes it, and a relay
-- (queues/engine/operations/relay.py) carries it there: the caller's at once, or the pump's. Members, by time:
--   ended⇥QUEUE⇥ID⇥OUTCOME⇥KEY   a job that others depend on; OUTCOME: acked, dead, deleted or expired;
--                                or respawned, which concerns workflows whose node it is
--   waits⇥QUEUE⇥ID               a job that depends on others: to be subscribed to them, or unsubscribed if it waits no more
--   added⇥QUEUE⇥ID               the same of dependencies that an open job got later, which may close a cycle
--   lost⇥QUEUE⇥BOUND, left⇥QUEUE⇥BOUND   both of these, of all jobs with lesser ids: their queue was deleted
-- INCLUDES run record
local function write_outgoing(message) redis.call('ZADD', outgoing, now, message) end

local function ended_message(id, outcome, options)
  return 'ended\t' .. queue .. '\t' .. id .. '\t' .. outcome .. '\t' .. key_of(options)
end

-- Others depend on the job (DEPENDED in its run's marks), and it has ended.
local function note_ended(id, outcome, options) write_outgoing(ended_message(id, outcome, options)) end

local function waits_message(id) return 'waits\t' .. queue .. '\t' .. id end

local function added_message(id) return 'added\t' .. queue .. '\t' .. id end

local function note_waits(id) write_outgoing(waits_message(id)) end

-- Jobs that have gone without an ack. `raw_runs`: theirs, false where there was none.
local function note_gone(ids, outcome, raw_runs)
  for i = 1, #ids do
    local raw = raw_runs[i]
    if raw and is_depended_on(raw) then note_ended(ids[i], outcome, run_options(raw)) end
  end
end
