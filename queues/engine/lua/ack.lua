-- ack: ends jobs (edge G). A working job is gone, or completed until its retention ends; a job in any other state is deleted.
-- A completed job is left alone, so that a client which repeats its ack does not lose the result.
-- With an attempt given, only that attempt may end the job ("fenced"): else nothing changes and the reply is lost.
-- The first write frees, so acking goes on when Redis is full.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     gets the result
--   ready        list     its tombstones
--   front        list     goes before `ready`
--   prio         zset     when the job was ready
--   priorities   hash     of the job
--   delayed      zset     when the job was delayed
--   retry        zset     when the job was waiting for its next try
--   expiring     zset     which waiting jobs expire soon
--   working      zset     the leases
--   dead         zset     when the job was dead
--   completed    zset     gets jobs with a retention
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones, the horizon of expiry
--   due          zset     index of due times
--   ends         zset     index of lease and retention ends
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   blocked      zset     where it may be
--   grouped      zset     where it may be
--   batches      hash     members of batches
--   outgoing     zset     gets messages to the jobs that depend on it
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   attempt      "" or number of the attempt that must hold each job
--   has_result   1 = `result` is kept with a completed job, 2 = there was one, too large to be kept
--   result       bytes
--   ...          job ids
-- REPLIES
--   ok           end ...   for each id: how many ms an acked job ran for, or -1 less that if others depend on it; or one of the words deleted, missing, lost,
--                         too_large (the job would keep its result: it was not acked)
-- INCLUDES ids record run ready wake due registry events minute_counts remove outgoing batch
local fence = tonumber(attempt)
local slots -- attempts that have ended, by limit key
local outcome, ended, durations, seen, ids = {'ok'}, {}, {}, {}, {}
local messages -- to be sent on to the jobs that depend on these, each behind its time
for i = REST, #ARGV do ids[#ids + 1] = ARGV[i] end
local leases = redis.call('ZMSCORE', working, unpack(ids))
local raw_runs = redis.call('HMGET', runs, unpack(ids))

-- Ends the attempt that holds the job.
local function finish(id, its_attempt, taken, options, consumer, marks)
  local retention, kind = unpack_options(options)
  if kind >= HAS_LIMIT_KEY then
    local its_key = limit_key_of(options)
    if its_key then
      slots = slots or {}
      slots[its_key] = (slots[its_key] or 0) + 1
    end
  end
  if retention > 0 then
    if has_result == '2' then return 'too_large' end
    redis.call('ZREM', working, id)
    redis.call('ZADD', completed, now + retention, id)
    if has_result == '1' then redis.call('HSET', results, id, result) end
    lower_index(ends, now + retention)
    redis.call('PUBLISH', channel, 'done\t' .. queue .. '\t' .. id)
  else
    ended[#ended + 1] = id
  end
  local run_ms = math.max(0, now - taken)
  durations[#durations + 1] = run_ms
  local line_end = string.format('\t%d\t\t%d\t\t', its_attempt, run_ms) .. consumer .. '\t'
  if kind % HAS_LIMIT_KEY >= HAS_GROUP then
    local members = subjects_of(id, options)
    for _, member in ipairs(members) do emit_line('acked\t' .. member .. line_end) end
    local weight = weight_in(options)
    if weight > 1 then count_stat('r' .. bucket(run_ms), weight - 1) end
    -- Those that stay are dropped when the batch is looked for in vain (lua/advance_groups.lua).
    if retention == 0 and marks < DEPENDED and members[1] ~= id then redis.call('HDEL', batches, id, unpack(members)) end
  else
    emit_line('acked\t' .. id .. line_end)
  end
  return run_ms
end

-- A plain ack of a job that nobody holds. A completed one is left alone.
local function delete(id)
  local before = not redis.call('ZSCORE', completed, id) and remove_job(id)
  if not before then return 'missing' end
  emit('deleted', id, '', '', '', before)
  return 'deleted'
end

for i, id in ipairs(ids) do
  local word
  if seen[id] then
    word = 'missing'
  elseif leases[i] then
    local its_attempt, _, _, marks, _, _, taken, options, consumer = struct.unpack(RUN, raw_runs[i])
    word = fence and fence ~= its_attempt and 'lost' or finish(id, its_attempt, taken, options, consumer, marks)
    if marks >= DEPENDED and type(word) == 'number' then
      word = -1 - word
      messages = messages or {}
      messages[#messages + 1], messages[#messages + 2] = now, ended_message(id, 'acked', options)
    end
  else
    word = fence and 'lost' or delete(id)
  end
  outcome[i + 1] = word
  seen[id] = true
end

if #ended > 0 then
  redis.call('ZREM', working, unpack(ended))
  drop_records(ended)
end
if messages then redis.call('ZADD', outgoing, unpack(messages)) end
if slots then
  for its_key, number in pairs(slots) do leave_slots(its_key, number) end
end
if #durations > 0 then
  count_durations('r', durations)
  -- A consumer that was refused because too many jobs were in flight waits for this.
  if is_waited_for() and anything_ready() then wake_ready(#durations) end
end
forget_if_empty()
flush_events()
return outcome
