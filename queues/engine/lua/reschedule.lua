-- reschedule: gives delayed and retried jobs another due time (edge Q); a time that has come makes them ready.
-- A job whose ttl ends before that time is left as it is: it would never be delivered. A job that was never delivered
-- gets its run here, for the record is never rewritten. The first write frees, so this works on a full Redis.
-- KEYS
--   jobs         hash     expiry of jobs that were never delivered
--   runs         hash     gets the due time: from now on there is a run
--   ready        list     where they go if the time has come
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   delayed      zset     their due times
--   retry        zset     their due times
--   expiring     zset     which waiting jobs expire soon
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   events       stream   transitions
--   counters     hash     dropped events
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   at           ms or ""  the new due time
--   delay        ms        from now, without `at`
--   budget       bytes     of records that are read: the first of the ids, at least one
--   ...          job ids
-- REPLIES
--   ok           outcome ...   for each id that it came to: moved; expires: its ttl ends before; other: it waits for no time; missing
-- INCLUDES record run ready_places wake due expiry_horizon events bulk
local due_ms = at ~= '' and tonumber(at) or delay ~= '0' and now_up + tonumber(delay) or now
local reply, count, moved = {'ok'}, 0, 0

local function move(id, set)
  local raw = redis.call('HGET', runs, id)
  if not raw then
    local tries, expires, _, options = unpack_record(redis.call('HGET', jobs, id))
    raw = struct.pack(RUN, 0, 0, tries, 0, expires, due_ms, 0, #options, options, 0, '')
  end
  local run = unpack_run(raw)
  if run.expires > 0 and run.expires < due_ms then return 'expires' end
  redis.call('ZREM', set, id)
  if due_ms > now then
    redis.call('ZADD', set, due_ms, id)
  else
    put_ready(id, place_of(id))
    count = count + 1
  end
  run.due = math.max(now, due_ms)
  redis.call('HSET', runs, id, pack_run(run))
  if run.expires > 0 then expect_expiry(run.expires, run.due, {id}, 1) end
  emit_line('rescheduled\t' .. id .. '\t' .. run.attempt .. '\t' .. run.due - now .. '\t\t\t\t')
  moved = moved + 1
  return 'moved'
end

for _, id in ipairs(first_within({unpack(ARGV, REST)}, tonumber(budget), jobs)) do
  local set = redis.call('ZSCORE', delayed, id) and delayed or redis.call('ZSCORE', retry, id) and retry
  reply[#reply + 1] = set and move(id, set) or redis.call('HEXISTS', jobs, id) == 1 and 'other' or 'missing'
end
if count > 0 then wake_ready(count) end
if moved > count then expect_due(due_ms) end
flush_events()
return reply
