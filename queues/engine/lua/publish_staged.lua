-- publish_staged: begins the jobs whose records have been staged (edges A and B). All or nothing.
-- The first write frees, the next needs memory: on a full Redis staging has failed before.
-- KEYS
--   jobs         hash     the records
--   staged       zset     their ids
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
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes     the event stream's
--   random       13 characters, shared by the ids of this call
--   counter      number at which their last three characters begin
--   delay        ms
--   at           ms or ""  absolute due time instead of a delay
--   ttl          ms        0 = never expires
--   tries        number
--   priority     -100..100
--   options      bytes     packed options, "" = all defaults
--   key          "": there is none
--   key_ttl      ms        0 = for ever
--   ...          the sizes of the bodies
-- REPLIES
--   ok           id ...    added, in the order of the bodies
--   duplicate    id        not of jobs without a key, which these are
--   gone                   the records are not all there any more; nothing was added
--   ttl_short              a job would expire before it is due; nothing was added
-- COUNTS ok:1
-- INCLUDES ready_places add
local sizes, ids = {}, {}
local prefix, before_first = time_part() .. random, counter - REST
for i = REST, #ARGV do
  sizes[#sizes + 1] = ARGV[i]
  ids[#ids + 1] = prefix .. counter_part(before_first + i)
end
for _, score in ipairs(redis.call('ZMSCORE', staged, unpack(ids))) do
  if not score then return {'gone'} end
end
redis.call('ZREM', staged, unpack(ids))
local added = add_jobs(nil, sizes)
flush_events()
return added
