-- reclaim: takes back jobs of one queue whose lease ran out (edge I): ready at once, retry if they have a backoff, dead
-- when their tries are used up. At most `limit`, longest overdue first. The first write frees.
-- KEYS
--   runs         hash     attempts
--   ready        list     where they go
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   retry        zset     where they go with a backoff
--   expiring     zset     which waiting jobs expire soon
--   working      zset     the leases
--   dead         zset     where they go without tries
--   completed    zset     for the true next end
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   ends         zset     index, set to the true next end
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
--   limit        jobs
-- REPLIES
--   ok           taken_back dead more
-- INCLUDES record run ready_places wake due events minute_counts backoff failure batch
local ids = redis.call('ZRANGEBYSCORE', working, '-inf', now, 'LIMIT', 0, limit)
local to_ready, to_dead, earliest = 0, 0, nil
local taken_back, ended, buried = 0, 0, 0 -- jobs, and of them and of batches' members those that failed, that died
for _, id in ipairs(ids) do
  if named >= MEMBERS_NAMED / 2 then break end -- the next call goes on
  taken_back = taken_back + 1
  redis.call('ZREM', working, id)
  local run = unpack_run(redis.call('HGET', runs, id))
  local reason = run.marks >= CANCELLED and 'cancelled' or 'lease lost'
  local state, due_ms = after_failure(id, run, OUTCOME_LEASE_LOST, '', nil, false)
  local subjects, weight = subjects_of(id, run.options), weight_in(run.options)
  ended = ended + weight
  for _, subject in ipairs(subjects) do
    emit('lease_lost', subject, run.attempt, math.max(0, now - run.taken), run.consumer, '')
  end
  if state == 'dead' then
    to_dead = to_dead + 1
    buried = buried + weight
    for _, subject in ipairs(subjects) do emit('dead', subject, run.attempt, '', run.consumer, reason) end
  elseif state == 'retry' then
    earliest = math.min(earliest or due_ms, due_ms)
  else
    to_ready = to_ready + 1
  end
end
if earliest then expect_due(earliest) end
-- Leases that ended also leave places in flight, which a waiting consumer may have been refused for.
if to_ready > 0 or (#ids > 0 and anything_ready()) then
  wake_ready(math.max(1, to_ready))
end
if #ids > 0 then
  count_stat('f', ended)
  count_stat('e', ended)
end
if to_dead > 0 then count_stat('d', buried) end
local next_end = reset_index(ends, working, completed)
flush_events()
return {'ok', taken_back, to_dead, next_end and next_end <= now and 1 or 0}
