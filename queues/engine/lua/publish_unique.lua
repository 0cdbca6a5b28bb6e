-- publish_unique: adds a job, unless one that has its key is not done yet (or has not begun yet), or instead of one that
-- waits. All or nothing: as in lib/add.lua, the first write needs memory.
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
--   waiting      zset     who waits
--   stats        hash     minutes
--   active       zset     who has counts
--   events       stream   transitions
--   counters     hash     dropped events
--   lines        zset     ready jobs with limit keys
--   turns        zset     whose turn it is
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
--   key          idempotency key
--   key_ttl      ms        0 = as long as `mode` says
--   mode         d: while the job is not done; s: while it has not begun; r: replace it as long as it has not begun
--   max_wait     ms        mode r: the job is due so long after the first that was replaced, at the latest; 0 = no bound
--   ...          the body
-- REPLIES
--   ok           id        added
--   duplicate    id        the key belongs to this job; nothing was added
--   ttl_short              the job would expire before it is due; nothing was added
-- INCLUDES line add unique remove expired
local held = redis.call('HGET', keys, key)
local replaced, first
local holder = held and is_held(held)
if holder then
  if mode == 'r' and string.sub(held, 33, 33) == 'r' and not has_begun(holder) then
    replaced, first = holder, struct.unpack('>I6', held, 34)
  end
end
local wait, due_at = tonumber(delay), nil
if replaced and tonumber(max_wait) > 0 then
  local latest = first + tonumber(max_wait)
  local asked = at ~= '' and tonumber(at) or now + wait
  if asked > latest then due_at = math.max(now, latest) end
end
local added = add_jobs({ARGV[REST]}, nil, due_at, replaced or not holder)
if added[1] == 'ok' then
  hold_while(mode, added[2], first or now)
  if replaced and remove_job(replaced) then emit('deleted', replaced, '', '', '', '') end
end
flush_events()
return added
