-- settle: what has become of dependencies of blocked jobs. A job with none left is ready, or delayed if it is not due yet
-- (edge O); if one has failed and the job's policy says so, it is dead (edge O). Repeating it changes nothing.
-- KEYS
--   runs         hash     due times
--   ready        list     where they go
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   blocked      zset     where they come from
--   waits        zset     what they wait for
--   delayed      zset     where they go if they are not due
--   dead         zset     where they go if a dependency has failed
--   expiring     zset     which waiting jobs expire soon
--   due          zset     index of due times
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     messages to other partitions
--   flags        hash     number of places in lines
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   ...          for each: job id; policy and dependency as in lib/waits.lua; outcome: waits (it is known there now), acked, or
--                why it has failed: dead, deleted, expired, unknown; or `cycle ...`, which the job never survives
-- REPLIES
--   ok           ended messages   jobs that are not blocked any more; messages to other partitions that were written
-- INCLUDES record run line wake due events minute_counts waits
local OUTCOME_FAILED = 1
local readied, ended, messages = 0, 0, 0

local function bury(id, dependency, outcome)
  local run, text = unpack_run(redis.call('HGET', runs, id)), 'dependency ' .. dependency .. ': ' .. outcome
  redis.call('ZREM', blocked, id)
  redis.call('ZREM', expiring, id)
  remember_attempt(run, OUTCOME_FAILED, text)
  redis.call('HSET', runs, id, pack_run(run))
  redis.call('ZADD', dead, now, id)
  emit('dead', id, '0', '', '', string.sub(text, 1, 200))
  count_stat('d', 1)
  if run.depended > 0 then note_ended(id, 'dead', run.options) end
  note_waits(id)
  messages = messages + 1
  ended = ended + 1
end

local function unblock(id)
  local run = unpack_run(redis.call('HGET', runs, id))
  redis.call('ZREM', blocked, id)
  ended = ended + 1
  if run.due > now then
    redis.call('ZADD', delayed, run.due, id)
    expect_due(run.due)
  else
    run.due = now
    redis.call('HSET', runs, id, pack_run(run))
    put_ready(id, place_of(id))
    emit_line('ready\t' .. id .. '\t\t0\t\t\t\t')
    readied = readied + 1
  end
end

local function settle(id, wait, outcome)
  local head, policy = id .. '\t', string.sub(wait, 1, 1)
  local is_fatal = outcome ~= 'acked' and policy == 'f' or string.sub(outcome, 1, 6) == 'cycle '
  if outcome == 'waits' then
    if redis.call('ZREM', waits, head .. '?' .. wait) == 1 then redis.call('ZADD', waits, 0, head .. '+' .. wait) end
  elseif outcome ~= 'acked' and policy == 'w' and not is_fatal then
    if redis.call('ZREM', waits, head .. '?' .. wait, head .. '+' .. wait) > 0 then
      redis.call('ZADD', waits, 0, head .. '-' .. wait)
    end
  elseif redis.call('ZREM', waits, head .. '?' .. wait, head .. '+' .. wait, head .. '-' .. wait) > 0 then
    if redis.call('ZSCORE', blocked, id) then
      if is_fatal then
        bury(id, string.sub(wait, 2), outcome)
      elseif not first_wait(id, '') then
        unblock(id)
      end
    end
  end
  end_message(id)
end

for i = REST, #ARGV, 3 do settle(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
if readied > 0 then wake_ready(readied) end
flush_events()
return {'ok', ended, messages}
