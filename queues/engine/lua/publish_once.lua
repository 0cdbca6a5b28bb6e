-- publish_once: adds jobs that share their options, each under an id by which a repetition is recognised: a job whose id was used
-- within the last `once_ttl` ms is not added again. All or nothing: as in lib/add.lua, the first write needs memory.
-- KEYS
--   jobs         hash     the records
--   runs         hash     whether a job has begun
--   results      hash     of a job that is replaced
--   expiring     zset     which waiting jobs expire soon
--   keys         hash     idempotency keys
--   ready        list     jobs of the default priority that are due now
--   front        list     goes before `ready`
--   prio         zset     jobs of another priority that are due now
--   priorities   hash     priorities other than 0
--   delayed      zset     jobs that are due later
--   retry        zset     a job that is replaced may be there
--   working      zset     whether a job is worked on
--   dead         zset     whether it is dead
--   completed    zset     whether it is completed
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
--   blocked      zset     where it may be
--   grouped      zset     where it may be
--   outgoing     zset     gets messages to the jobs that depend on it
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
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
--   key_ttl      ms        0 = for ever, or as long as `mode` says
--   mode         "": for key_ttl; d: while the job is not done; s: while it has not begun; r: replace it as long as it has not begun
--   max_wait     ms        mode r: the job is due so long after the first that was replaced, at the latest; 0 = no bound
--   once_ttl     ms        for which the ids are remembered
--   ...          id and body of each job
-- REPLIES
--   ok           id ...    added, or added before under the same id, in the order of the bodies
--   duplicate    id        the key belongs to this job; nothing was added
--   ttl_short              a job would expire before it is due; nothing was added
-- COUNTS ok:1 duplicate:1
-- INCLUDES add_unique
local answer, fresh, bodies = {'ok'}, {}, {}
for i = REST, #ARGV, 2 do
  local held = redis.call('HGET', keys, ARGV[i])
  local expires, id = 0, ''
  if held then expires, id = struct.unpack('>I6c26', held) end
  if expires <= now then
    bodies[#bodies + 1] = ARGV[i + 1]
    fresh[#fresh + 1] = i
    id = ''
  end
  answer[#answer + 1] = id
end
if #bodies == 0 then
  write_to_stream()
  return answer
end
local added
if mode == '' then added = add_jobs(bodies) else added = add_unique(bodies) end
flush_events()
if added[1] == 'ttl_short' then return added end
local until_ms = now + tonumber(once_ttl)
local marks = {}
for n, i in ipairs(fresh) do
  local id = added[n + 1]
  answer[(i - REST) / 2 + 2] = id
  marks[2 * n - 1], marks[2 * n] = ARGV[i], struct.pack('>I6c26', until_ms, id)
end
redis.call('HSET', keys, unpack(marks))
expect_key_end(until_ms)
if added[1] == 'duplicate' then return added end
return answer
