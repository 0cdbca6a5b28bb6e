-- republish: deletes a job, whatever its state, and publishes a body as a new job instead (edge M, then A or B).
-- A duplicate key or too short a ttl changes nothing: the old job stays.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   jobs         hash     the records
--   keys         hash     idempotency keys
--   runs         hash     of the old job
--   results      hash     of the old job
--   ready        list     jobs of the default priority that are due now
--   prio         zset     jobs of another priority that are due now
--   priorities   hash     priorities other than 0
--   delayed      zset     jobs that are due later
--   retry        zset     of the old job
--   working      zset     of the old job
--   dead         zset     of the old job
--   completed    zset     of the old job
--   flags        hash     tombstones
--   due          zset     index of due times
--   queues       zset     the registry
--   waiting      zset     who waits
--   stats        hash     minutes
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          entries   the event stream's
--   random       13 characters, shared by the ids of this call
--   counter      number at which their last three characters begin
--   delay        ms
--   at           ms or ""  absolute due time instead of a delay
--   ttl          ms        0 = never expires
--   tries        number
--   priority     -100..100
--   options      bytes     packed options, "" = all defaults
--   key          "" or idempotency key (one job only)
--   key_ttl      ms        0 = for ever
--   old          the job to delete
--   body         bytes
-- REPLIES
--   ok           id        added; the old job, if there was one, is gone
--   duplicate    id        the key belongs to this job; nothing was added
--   ttl_short              the job would expire before it is due; nothing was added
-- INCLUDES clock add remove
local now = clock(now_ms)
local added = add_jobs(
  {jobs = jobs, keys = keys, ready = ready, prio = prio, priorities = priorities, delayed = delayed, due = due,
    queues = queues, waiting = waiting, stats = stats},
  {queue = queue, channel = channel, random = random, counter = counter, delay = delay, at = at, ttl = ttl,
    tries = tries, priority = priority, options = options, key = key, key_ttl = key_ttl},
  now, {body})
if added[1] == 'ok' and remove_job({jobs = jobs, runs = runs, results = results, ready = ready, prio = prio,
  priorities = priorities, delayed = delayed, retry = retry, working = working, dead = dead, completed = completed,
  flags = flags}, queue, old) then
  emit('deleted', old, '', '', '', '', '', '')
end
flush_events(events, counters, queue, now, cap)
return added
