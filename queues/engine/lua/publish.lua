-- publish: adds jobs that share their options (edges A and B). All or nothing.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of jobs with long records
--   expiring     zset     which waiting jobs expire soon
--   keys         hash     idempotency keys
--   ready        list     jobs of the default priority that are due now
--   prio         zset     jobs of another priority that are due now
--   priorities   hash     priorities other than 0
--   delayed      zset     jobs that are due later
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   dependants   zset     whether a job waits for one with the key
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
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
--   ...          the bodies
-- REPLIES
--   ok           id ...    added, in the order of the bodies
--   duplicate    id        the key belongs to this job; nothing was added
--   ttl_short              the job would expire before it is due; nothing was added
-- COUNTS ok:1 duplicate:1
-- INCLUDES plain_ready_places add
local bodies = {}
for i = REST, #ARGV do bodies[#bodies + 1] = ARGV[i] end
local added = add_jobs(bodies)
flush_events()
return added
