-- revive_nodes: revives dead jobs of a workflow with one more try and a new ttl, ready or blocked (edges L and R). What is not
-- dead, or died later, is left as it is, so repeating it changes nothing.
-- KEYS
--   runs         hash     attempts
--   ready        list     where they go if they wait for nothing
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   expiring     zset     which waiting jobs expire soon
--   dead         zset     where they come from
--   blocked      zset     where they go if they wait for others
--   waits        zset     what each waits for
--   flags        hash     the horizon of expiry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   events       stream   transitions
--   counters     hash     dropped events
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
--   outgoing     zset     gets them
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   ttl          ms        0 = never expires
--   before       ms        those that died then, or earlier
--   ...          for each: id; number of waits; the waits (lib/waits.lua), state first
-- REPLIES
--   ok           count
-- INCLUDES run ready_places wake expiry_horizon events outgoing
local ttl_ms, count, readied = tonumber(ttl), 0, 0
local expires = ttl_ms > 0 and now + ttl_ms or 0

local function revive(id, first, last)
  local died = redis.call('ZSCORE', dead, id)
  if not died or tonumber(died) > tonumber(before) then return end
  redis.call('ZREM', dead, id)
  count = count + 1
  local run = unpack_run(redis.call('HGET', runs, id))
  run.tries, run.due, run.expires = math.max(run.tries, run.used + 1), now, expires
  redis.call('HSET', runs, id, pack_run(run))
  note_ended(id, 'respawned', run.options)
  emit('respawned', id, run.attempt, '', '', '')
  if last < first then
    readied = readied + 1
    put_ready(id, place_of(id))
    if expires > 0 then expect_expiry(expires, now, {id}, 1) end
    return
  end
  redis.call('ZADD', blocked, now, id)
  for i = first, last do redis.call('ZADD', waits, 0, id .. '\t' .. ARGV[i]) end
  note_waits(id)
  if expires > 0 then
    redis.call('ZADD', expiring, expires, id)
    schedule_sweep(expires)
  end
end

local i = REST
while i <= #ARGV do
  local last = i + 1 + tonumber(ARGV[i + 1])
  revive(ARGV[i], i + 2, last)
  i = last + 1
end
if readied > 0 then wake_ready(readied) end
flush_events()
return {'ok', count}
