-- release: gives a working job back without burning the try (edge K): to the head of ready, or delayed. One whose attempt
-- was cancelled (lua/cancel.lua) is dead instead.
-- KEYS
--   jobs         hash     whether the job exists
--   runs         hash     attempts
--   ready        list     where it goes, at the head
--   front        list     goes before `ready`
--   prio         zset     the same, other priorities
--   priorities   hash     of the job
--   delayed      zset     where it goes with a delay
--   expiring     zset     which waiting jobs expire soon
--   working      zset     the lease that ends
--   dead         zset     where it goes if it was cancelled
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
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
--   delay        ms
-- REPLIES
--   ok
--   lost                   the attempt does not hold the job; nothing changed
--   missing                no such job
-- INCLUDES record run ready_places wake due expiry_horizon events minute_counts failure outgoing
local run = redis.call('ZSCORE', working, id) and unpack_run(redis.call('HGET', runs, id))
if not run or (attempt ~= '' and run.attempt ~= tonumber(attempt)) then
  return {redis.call('HEXISTS', jobs, id) == 1 and 'lost' or 'missing'}
end
redis.call('ZREM', working, id)
leave_slot_of(run.options)
if run.marks >= CANCELLED then
  run.marks = run.marks % CANCELLED
  remember_attempt(run, OUTCOME_FAILED, 'cancelled')
  redis.call('HSET', runs, id, pack_run(run))
  redis.call('ZADD', dead, now, id)
  if run.depended > 0 then note_ended(id, 'dead', run.options) end
  emit('failed', id, run.attempt, math.max(0, now - run.taken), run.consumer, 'cancelled')
  emit('dead', id, run.attempt, '', run.consumer, 'cancelled')
  if anything_ready() then wake_ready(1) end
  count_stat('f', weight_in(run.options))
  count_stat('d', weight_in(run.options))
  flush_events()
  return {'ok'}
end
emit('released', id, run.attempt, math.max(0, now - run.taken), run.consumer, '')
if run.marks == 0 then run.used = run.used - 1 end
local wait = tonumber(delay)
run.due = wait > 0 and now_up + wait or now
redis.call('HSET', runs, id, pack_run(run))
if run.expires > 0 then expect_expiry(run.expires, run.due, {id}, 1) end
if wait > 0 then
  redis.call('ZADD', delayed, run.due, id)
  expect_due(run.due)
else
  put_ready_at_head(id, place_of(id))
end
if anything_ready() then wake_ready(1) end
flush_events()
return {'ok'}
