-- ack: ends jobs (edge G). A working job is gone, or completed until its retention ends; a job in any other state is deleted.
-- A completed job is left alone, so that a client which repeats its ack does not lose the result.
-- With an attempt given, only that attempt may end the job ("fenced"): else nothing changes and the reply is lost.
-- The first write frees, so acking goes on when Redis is full.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     gets the result
--   ready        list     its tombstones
--   prio         zset     when the job was ready
--   priorities   hash     of the job
--   delayed      zset     when the job was delayed
--   retry        zset     when the job was waiting for its next try
--   working      zset     the leases
--   dead         zset     when the job was dead
--   completed    zset     gets jobs with a retention
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease and retention ends
--   queues       zset     the registry
--   waiting      zset     who waits for a place in flight
--   stats        hash     minutes
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          entries   the event stream's
--   attempt      "" or number of the attempt that must hold each job
--   has_result   1 = `result` is kept with a completed job
--   result       bytes
--   ...          job ids
-- REPLIES
--   ok           word ...  for each id: acked, deleted, missing or lost
-- INCLUDES clock ids record run ready wake due registry events stats remove
local now = clock(now_ms)
local K = {jobs = jobs, runs = runs, results = results, ready = ready, prio = prio, priorities = priorities,
  delayed = delayed, retry = retry, working = working, dead = dead, completed = completed, flags = flags}
local fence = tonumber(attempt)
local outcome, ended, durations = {'ok'}, {}, {}
local ids = {}
for i = REST, #ARGV do ids[#ids + 1] = ARGV[i] end
local leases = redis.call('ZMSCORE', working, unpack(ids))
local raw_runs = redis.call('HMGET', runs, unpack(ids))
local seen = {}

for i, id in ipairs(ids) do
  local run = leases[i] and unpack_run(raw_runs[i])
  if seen[id] then
    outcome[i + 1] = 'missing'
  elseif fence and not (run and run.attempt == fence) then
    outcome[i + 1] = 'lost'
  elseif not run then
    local state = not redis.call('ZSCORE', completed, id) and remove_job(K, queue, id)
    outcome[i + 1] = state and 'deleted' or 'missing'
    if state then emit('deleted', id, '', '', '', '', '', '') end
  else
    redis.call('ZREM', working, id)
    local retention = unpack_options(run.options)
    if retention > 0 then
      redis.call('ZADD', completed, now + retention, id)
      if has_result == '1' then redis.call('HSET', results, id, result) end
      lower_index(ends, queue, now + retention)
      redis.call('PUBLISH', channel, 'done\t' .. queue .. '\t' .. id)
    else
      ended[#ended + 1] = id
    end
    outcome[i + 1] = 'acked'
    durations[#durations + 1] = math.max(0, now - run.taken)
    emit('acked', id, run.attempt, '', math.max(0, now - run.taken), '', run.consumer, '')
  end
  seen[id] = true
end

if #ended > 0 then
  redis.call('HDEL', jobs, unpack(ended))
  redis.call('HDEL', runs, unpack(ended))
  redis.call('HDEL', priorities, unpack(ended))
end
if #durations > 0 then
  count_durations(stats, now, 'r', durations)
  -- A consumer that was refused because too many jobs were in flight waits for this.
  if is_waited_for(waiting, queue, now) and redis.call('EXISTS', ready, prio) > 0 then
    wake_ready(waiting, channel, queue, #durations, now)
  end
end
forget_if_empty(queues, jobs, keys, ready, flags, due, ends, queue)
flush_events(events, counters, queue, now, cap)
return outcome
