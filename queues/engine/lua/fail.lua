-- fail: ends an attempt without success (edge H): retry after a backoff, ready at once, or dead when the tries are used up.
-- KEYS
--   jobs         hash     whether the job exists
--   runs         hash     attempts
--   ready        list     where it goes without a backoff
--   prio         zset     the same, other priorities
--   priorities   hash     of the job
--   retry        zset     where it goes with a backoff
--   expiring     zset     which waiting jobs expire soon
--   working      zset     the lease that ends
--   dead         zset     where it goes without tries
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
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
--   id           job
--   attempt      "" or the attempt that must hold the job
--   error        text      at most 1 KiB
--   delay        "" or ms  instead of the job's backoff
--   bury         1 = dead at once, whatever tries are left
--   fallback     "" or ms  instead of no backoff, if `delay` is ""
-- REPLIES
--   retry        due_ms 0
--   ready        0 0
--   dead         0 depended    1: others depend on it
--   lost                   the attempt does not hold the job; nothing changed
--   missing                no such job
-- INCLUDES record run ready_places wake due events minute_counts backoff failure batch
local run = redis.call('ZSCORE', working, id) and unpack_run(redis.call('HGET', runs, id))
if not run or (attempt ~= '' and run.attempt ~= tonumber(attempt)) then
  return {redis.call('HEXISTS', jobs, id) == 1 and 'lost' or 'missing'}
end
redis.call('ZREM', working, id)
local state, due_ms = after_failure(id, run, OUTCOME_FAILED, error, delay ~= '' and tonumber(delay) or nil,
  bury == '1', tonumber(fallback))
local line = string.gsub(string.sub(error, 1, 200), '%c', ' ')
local subjects, weight = subjects_of(id, run.options), weight_in(run.options)
for _, subject in ipairs(subjects) do emit('failed', subject, run.attempt, math.max(0, now - run.taken), run.consumer, line) end
if state == 'dead' then
  for _, subject in ipairs(subjects) do emit('dead', subject, run.attempt, '', run.consumer, line) end
elseif state == 'retry' then
  expect_due(due_ms)
end
-- Either this job is ready, or the place in flight that it leaves lets another be delivered.
if state == 'ready' or anything_ready() then wake_ready(1) end
count_stat('f', weight)
if state == 'dead' then count_stat('d', weight) end
flush_events()
return {state, due_ms, state == 'dead' and run.depended > 0 and 1 or 0}
