-- consume: hands out up to `count` ready jobs, each under a lease of `ttr` (edge F), after moving this queue's own due
-- jobs to ready (edges E and J), so that precision does not depend on the pump.
-- An expired job is never handed out; it and tombstones are stepped over, at most `skip` of them in one call.
-- The first write frees (a pop, or a removal from delayed), so consuming goes on when Redis is full.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     popped from its head
--   prio         zset     other priorities
--   priorities   hash     of the jobs that are promoted
--   delayed      zset     own due jobs
--   retry        zset     own due jobs
--   working      zset     gets the leases
--   keys         hash     whether the queue is still registered when its last job expired
--   flags        hash     paused, tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   waiting      zset     gets this consumer's mark
--   stats        hash     minutes
--   events       stream   transitions
--   counters     hash     dropped events
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          entries   the event stream's
--   ttr          ms        length of the lease
--   count        jobs      at the most
--   consumer     text      one line, at most 64 bytes
--   in_flight    jobs      the most that may be working at once, 0 = no bound
--   freeze       1 = this attempt does not count against the tries
--   mark         ms        how long the caller waits for a wake-up if nothing is there, 0 = not at all
--   promote      jobs      at most so many own due jobs are moved
--   skip         jobs      at most so many dead entries are stepped over
-- REPLIES
--   jobs         now {id attempt tries expires options body} ...
--   none         now next_due   nothing is ready; next due time in ms, or 0
--   paused       now            the queue hands nothing out
--   full         now            the in-flight bound is reached
--   more         now            only dead entries so far: call again
-- INCLUDES clock ids record run ready wake due registry events stats promote
local now = clock(now_ms)
ttr, count, in_flight, mark = tonumber(ttr), tonumber(count), tonumber(in_flight), tonumber(mark)
skip = tonumber(skip)

local function nothing(word, next_due)
  if mark > 0 then mark_waiting(waiting, queue, now, mark) end
  return {word, now, next_due}
end

if redis.call('HEXISTS', flags, 'p:' .. queue) == 1 then return nothing('paused') end
if in_flight > 0 then
  count = math.min(count, in_flight - redis.call('ZCARD', working))
  if count <= 0 then return nothing('full') end
end

local next_due = redis.call('ZSCORE', due, queue)
next_due = next_due and tonumber(next_due)
if next_due and next_due <= now then
  local moved
  moved, next_due = promote_jobs({delayed = delayed, retry = retry, ready = ready, prio = prio, priorities = priorities,
    due = due}, queue, now, math.max(tonumber(promote), count))
  if moved > count then wake_ready(waiting, channel, queue, moved - count, now) end
end

local lease_end = now + ttr
local has_prio = redis.call('EXISTS', prio) == 1
local jobs_out, waits = {'jobs', now}, {}
local delivered, tombstones, expired = 0, 0, 0

local function pop()
  if has_prio then
    local head = redis.call('ZRANGE', prio, 0, 0, 'WITHSCORES')
    if head[1] and (tonumber(head[2]) < RANK_DEFAULT or redis.call('LLEN', ready) == 0) then
      redis.call('ZREM', prio, head[1])
      return {head[1]}
    end
    local id = redis.call('LPOP', ready)
    return id and {id} or {}
  end
  if count - delivered == 1 then
    local id = redis.call('LPOP', ready)
    return id and {id} or {}
  end
  return redis.call('LPOP', ready, count - delivered) or {}
end

while delivered < count and tombstones + expired < skip do
  local ids = pop()
  if #ids == 0 then break end
  local records = redis.call('HMGET', jobs, unpack(ids))
  local runs_before = redis.call('HMGET', runs, unpack(ids))
  local new_runs, leases, gone = {}, {}, {}
  for i, id in ipairs(ids) do
    local raw = records[i]
    if not raw then
      tombstones = tombstones + 1
    else
      local tries, expires, due_at, options, body_at = unpack_record(raw)
      local run
      if runs_before[i] then
        run = unpack_run(runs_before[i])
      else
        run = {attempt = 0, tries = tries, expires = expires, due = due_at or id_time(id), options = options, history = ''}
      end
      if run.expires > 0 and run.expires <= now then
        gone[#gone + 1] = id
        emit('expired', id, run.attempt, '', '', '', '', '')
      else
        run.attempt = run.attempt + 1
        if freeze == '1' then run.tries = run.tries + 1 end
        run.taken, run.consumer = now, consumer
        local wait = math.max(0, now - run.due)
        waits[#waits + 1] = wait
        new_runs[#new_runs + 1], new_runs[#new_runs + 2] = id, pack_run(run)
        leases[#leases + 1], leases[#leases + 2] = lease_end, id
        delivered = delivered + 1
        local body = string.sub(raw, body_at)
        jobs_out[delivered + 2] = {id, run.attempt, run.tries, run.expires, options, body}
        emit('consumed', id, run.attempt, wait, '', #body, consumer, '')
      end
    end
  end
  if #gone > 0 then
    expired = expired + #gone
    redis.call('HDEL', jobs, unpack(gone))
    redis.call('HDEL', runs, unpack(gone))
    redis.call('HDEL', priorities, unpack(gone))
  end
  if #leases > 0 then
    redis.call('HSET', runs, unpack(new_runs))
    redis.call('ZADD', working, unpack(leases))
  end
end

if tombstones > 0 then count_tombstones(flags, ready, jobs, queue, -tombstones) end
if expired > 0 then
  count_stat(stats, now, 'x', expired)
  forget_if_empty(queues, jobs, keys, ready, flags, due, ends, queue)
end
if delivered > 0 then
  lower_index(ends, queue, lease_end)
  count_durations(stats, now, 'w', waits)
end
flush_events(events, counters, queue, now, cap)
if delivered > 0 then return jobs_out end
if tombstones + expired >= skip then return {'more', now} end
return nothing('none', next_due or 0)
