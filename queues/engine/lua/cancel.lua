-- cancel: deletes a job that waits; of one that is worked on, marks the attempt: unless it ends in an ack, the job is dead
-- after it, however it ends (lib/failure.lua). A dead or completed job is left as it is.
-- KEYS
--   jobs         hash     the records
--   runs         hash     gets the mark
--   results      hash     results
--   ready        list     its tombstones
--   front        list     goes before `ready`
--   prio         zset     where it may be
--   priorities   hash     of the job
--   delayed      zset     where it may be
--   retry        zset     where it may be
--   expiring     zset     which waiting jobs expire soon
--   working      zset     where it may be
--   dead         zset     where it may be
--   completed    zset     where it may be
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   events       stream   transitions
--   counters     hash     dropped events
--   blocked      zset     where it may be
--   grouped      zset     where it may be
--   outgoing     zset     gets messages to the jobs that depend on it
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   id           job
-- REPLIES
--   ok           state attempt      in which it was found; attempt 0 unless it is worked on
--   missing
-- INCLUDES registry events remove job_details has_expired run
local expires = expiry_of(id, redis.call('HGET', runs, id)) -- not look(): that reads the whole record
if not expires then return {'missing'} end
local state, attempt = find_state(id), 0
if is_waiting(state) and has_expired(expires) then return {'missing'} end
if state == 'working' then
  local run = unpack_run(redis.call('HGET', runs, id))
  attempt = run.attempt
  if run.marks < CANCELLED then
    run.marks = run.marks + CANCELLED
    redis.call('HDEL', runs, id) -- frees, so that a full Redis lets the HSET through
    redis.call('HSET', runs, id, pack_run(run))
  end
elseif state ~= 'dead' and state ~= 'completed' then
  local ended = remove_job(id)
  emit('deleted', id, '', '', '', ended)
  forget_if_empty()
end
flush_events()
return {'ok', state, attempt}
