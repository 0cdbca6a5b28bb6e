-- peek: the job that would be handed out next, without handing it out. Steps over tombstones and expired jobs, which it
-- clears away, at most `skip` of them in one call.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     its head
--   prio         zset     other priorities
--   priorities   hash     of expired jobs
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   stats        hash     minutes
--   active       zset     who has counts
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   skip         jobs
-- REPLIES
--   job          now id attempt used tries expires options body
--   none         now
--   more         now       only dead entries so far: call again
-- INCLUDES record run ready registry events stats remove
local tombstones, expired = 0, 0
local found = {'more', now}
for _ = 1, tonumber(skip) do
  local in_prio = first_of_prio()
  local id = in_prio or redis.call('LINDEX', ready, 0)
  if not id then
    found = {'none', now}
    break
  end
  local raw = redis.call('HGET', jobs, id)
  local attempt, used, tries, expires, options, body_at = 0, 0, 0, 0, '', 0
  if raw then
    tries, expires, _, options, body_at = unpack_record(raw)
    local raw_run = redis.call('HGET', runs, id)
    if raw_run then
      local run = unpack_run(raw_run)
      attempt, used, tries, expires = run.attempt, run.used, run.tries, run.expires
    end
    if expires == 0 or expires > now then
      found = {'job', now, id, attempt, used, tries, expires, options, string.sub(raw, body_at)}
      break
    end
    drop_records({id})
    expired = expired + 1
    emit('expired', id, attempt, '', '', '')
  else
    tombstones = tombstones + 1
  end
  if in_prio then redis.call('ZREM', prio, id) else redis.call('LPOP', ready) end
end
if tombstones > 0 then count_tombstones(-tombstones) end
if expired > 0 then
  count_stat('x', expired)
  forget_if_empty()
end
flush_events()
return found
