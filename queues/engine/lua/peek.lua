-- peek: the job that would be delivered next, without delivering it. Steps over tombstones and expired jobs, which it
-- clears away, about `skip` of them in one call. Ignores limits: of jobs with limit keys it shows the one that is next if no
-- key is at a limit that was not at one before.
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
--   cap          bytes     the event stream's
--   skip         dead entries, as consume counts them
-- REPLIES
--   job          now id attempt used tries expires options body
--   none         now
--   more         now       only dead entries so far: call again
-- INCLUDES record run has_expired ready fair registry events minute_counts remove outgoing
local tombstones, expired, skipped = 0, 0, 0
local found = {'more', now}

-- The first job of the key whose turn is next, as a member of `lines`, unless a job without a key is before it. Keys at a
-- limit come after those jobs.
local function next_of_keys()
  if redis.call('EXISTS', lines) == 0 then return nil end
  local first = redis.call('ZRANGEBYSCORE', turns, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if redis.call('EXISTS', ready, prio) > 0 then
    local virtual, start = unpack_clock(redis.call('HGET', shares, ''))
    if not first[1] or math.max(virtual, start) <= tonumber(first[2]) then return nil end
  end
  local its_key = first[1] or redis.call('ZRANGEBYSCORE', turns, format_turn(-TURN_LIMITED), '(0', 'LIMIT', 0, 1)[1]
  return range_line(its_key, 0, 1)[1]
end

while skipped < tonumber(skip) do
  local member = next_of_keys()
  local in_prio = not member and first_of_prio()
  local list = redis.call('EXISTS', front) == 1 and front or ready
  local id = member and string.sub(member, -ID_BYTES) or in_prio or redis.call('LINDEX', list, 0)
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
  if member then
    leave_line(id, string.sub(member, 1, -1 - ID_BYTES))
  elseif in_prio then
    redis.call('ZREM', prio, id)
  else
    redis.call('LPOP', list)
  end
end
if tombstones > 0 then count_tombstones(-tombstones) end
if expired > 0 then
  count_stat('x', expired)
  forget_if_empty()
end
flush_events()
return found
