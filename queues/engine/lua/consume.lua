-- consume: delivers up to `count` ready jobs, each under a lease of `ttr` (edge F), after moving this queue's own due
-- jobs to ready (edges E and J), so that precision does not depend on the pump.
-- An expired job is never delivered; it and tombstones are stepped over, about `skip` of them in one call, unless all that
-- are left are known to have expired (lib/expiry_horizon.lua).
-- The first write frees (a pop, or a removal from delayed), so consuming goes on when Redis is full.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     popped from its head
--   front        list     goes before `ready`
--   prio         zset     other priorities
--   priorities   hash     of the jobs that are promoted
--   delayed      zset     own due jobs
--   retry        zset     own due jobs
--   expiring     zset     which waiting jobs expire soon
--   working      zset     gets the leases
--   keys         hash     whether the queue is still registered when its last job expired
--   flags        hash     paused, tombstones, whether there are jobs with limit keys
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     gets this consumer's mark
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   blocked      zset     how many jobs in `expiring` are not in line
--   outgoing     zset     gets messages to the jobs that depend on it
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   ttr          ms        length of the lease
--   count        jobs      at the most
--   in_flight    jobs      the most that may be working at once, 0 = no bound
--   freeze       1 = this attempt burns no try, else 0
--   mark         ms        how long the caller waits for a wake-up if nothing is there, 0 = not at all
--   promote      jobs      at most so many own due jobs are moved
--   skip         dead entries that are stepped over, about: an expired job counts as two, a huge one as more
--   budget       bytes     of bodies, after which no more jobs are taken, so that huge ones come a few at a time
--   ...          consumers, one line of at most 64 bytes each: the first job's, the second's, ...; the last has all further jobs
-- REPLIES
--   jobs         now next_due early {id attempt used tries expires options body} ...
--                options "" unless they may hold attributes or a group; next_due as below; early 1: fewer than `count` because
--                of `skip` or `budget`, so there may be more, else 0
--   none         now next_due   nothing is ready; next due time in ms, or 0
--   paused       now            the queue delivers nothing
--   full         now            the in-flight bound is reached
--   more         now            only dead entries so far: call again
--   keyed        now            nothing was done: it holds jobs with limit keys, which consume_with_limits delivers
-- COUNTS jobs:4
-- INCLUDES plain_ready_places deliver due_jobs
local in_flight_max = tonumber(in_flight)
local marks = redis.call('HMGET', flags, 'p:' .. queue, 'l:' .. queue)
if marks[1] then return nothing('paused') end
if marks[2] then return {'keyed', now} end
if in_flight_max > 0 then
  most = math.min(most, in_flight_max - redis.call('ZCARD', working))
  if most <= 0 then return nothing('full') end
end

local next_due = tonumber(redis.call('ZSCORE', due, queue) or 0)
if next_due > 0 and next_due <= now then
  local moved, later = promote_jobs(math.max(tonumber(promote), most))
  next_due = later or 0
  if moved > most then wake_ready(moved - most) end
end

local has_prio, list = false, ready
if redis.call('EXISTS', prio, expiring, front) > 0 then
  has_prio, has_expiring = redis.call('EXISTS', prio) == 1, redis.call('EXISTS', expiring) == 1
  if redis.call('EXISTS', front) == 1 then list = front end
end

-- Takes ids off the queue, many at once. → ids, their ranks if they were in `prio`
local function pop()
  local number = fetch_size()
  if has_prio then
    local ids, ranks = next_of_prio(number)
    if #ids > 0 then
      redis.call('ZREM', prio, unpack(ids))
      return ids, ranks
    end
  end
  if list == front and redis.call('EXISTS', front) == 0 then list = ready end
  if number > 1 then return redis.call('LPOP', list, number) or {} end
  local id = redis.call('LPOP', list)
  return id and {id} or {}
end

-- Puts back ids from place `first` on.
local function put_back(ids, ranks, first)
  for i = #ids, first, -1 do
    if ranks then redis.call('ZADD', prio, ranks[i], ids[i]) else redis.call('LPUSH', list, ids[i]) end
  end
end

while delivered < most and skipped < skip_max and bytes < bytes_max and not known_dead do
  local ids, ranks = pop()
  if #ids == 0 then break end
  local first_left = deliver(ids)
  put_back(ids, ranks, first_left)
  if known_dead then known_dead = is_known_dead() end -- the sweeper deletes the rest
end
return finish_delivery(next_due)
