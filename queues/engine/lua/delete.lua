-- delete: removes jobs in any state (edge M). The first write frees.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     results
--   ready        list     its tombstones
--   prio         zset     where it may be
--   priorities   hash     of the job
--   delayed      zset     where it may be
--   retry        zset     where it may be
--   working      zset     where it may be
--   dead         zset     where it may be
--   completed    zset     where it may be
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          entries   the event stream's
--   only         "" or the state a job must be in to be deleted
--   ...          job ids
-- REPLIES
--   ok           count     jobs deleted
-- INCLUDES clock registry events remove
local K = {jobs = jobs, runs = runs, results = results, ready = ready, prio = prio, priorities = priorities,
  delayed = delayed, retry = retry, working = working, dead = dead, completed = completed, flags = flags}
local count = 0
for i = REST, #ARGV do
  local id = ARGV[i]
  if (only == '' or redis.call('ZSCORE', K[only], id)) and remove_job(K, queue, id) then
    count = count + 1
    emit('deleted', id, '', '', '', '', '', '')
  end
end
if count > 0 then forget_if_empty(queues, jobs, keys, ready, flags, due, ends, queue) end
flush_events(events, counters, queue, clock(now_ms), cap)
return {'ok', count}
