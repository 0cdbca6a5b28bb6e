-- peek: the job that would be handed out next, without handing it out. Steps over tombstones and expired jobs, which it
-- clears away, about `skip` of them in one call.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     its head
--   front        list     goes before `ready`
--   prio         zset     other priorities
--   priorities   hash     of expired jobs
--   expiring     zset     which waiting jobs expire soon
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   stats        hash     minutes
--   sweeps       zset     when the sweeper has work
--   active       zset     who has counts
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets what jobs that depend on it have to learn
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes     the event stream's
--   skip         dead entries, as consume counts them
-- REPLIES
--   job          now id attempt used tries expires options body
--   none         now
--   more         now       only dead entries so far: call again
-- INCLUDES record run expired ready registry events stats remove outgoing
local tombstones, expired, skipped = 0, 0, 0
local found = {'more', now}
while skipped < tonumber(skip) do
  local in_prio = first_of_prio()
  local list = redis.call('EXISTS', front) == 1 and front or ready
  local id = in_prio or redis.call('LINDEX', list, 0)
  if not id then
    found = {'none', now}
    break
  end
  local raw_run = redis.call('HGET', runs, id)
  local expires = expiry_of(id, raw_run)
  if not expires then
    tombstones = tombstones + 1
    skipped = skipped + 1
  else
    if not has_expired(expires) then
      local raw = redis.call('HGET', jobs, id)
      local tries, _, _, options, body_at = unpack_record(raw)
      local run = raw_run and unpack_run(raw_run) or {attempt = 0, used = 0, tries = tries}
      found = {'job', now, id, run.attempt, run.used, run.tries, expires, options, string.sub(raw, body_at)}
      break
    end
    skipped = skipped + 2 + math.floor(redis.call('HSTRLEN', jobs, id) / 16384)
    drop_records({id})
    redis.call('ZREM', expiring, id)
    expired = expired + 1
    emit('expired', id, raw_run and run_attempt(raw_run) or 0, '', '', '')
    note_gone({id}, 'expired', {raw_run})
  end
  if in_prio then redis.call('ZREM', prio, id) else redis.call('LPOP', list) end
end
if tombstones > 0 then count_tombstones(-tombstones) end
if expired > 0 then
  count_stat('x', expired)
  forget_if_empty()
end
flush_events()
return found
