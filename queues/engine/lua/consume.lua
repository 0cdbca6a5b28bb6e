-- consume: hands out up to `count` ready jobs, each under a lease of `ttr` (edge F), after moving this queue's own due
-- jobs to ready (edges E and J), so that precision does not depend on the pump.
-- An expired job is never handed out; it and tombstones are stepped over, about `skip` of them in one call, unless all that
-- are left are known to have expired (lib/expiry.lua).
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
--   flags        hash     paused, tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     gets this consumer's mark
--   stats        hash     minutes
--   active       zset     who has counts
--   events       stream   transitions
--   counters     hash     dropped events
--   blocked      zset     how many jobs in `expiring` are not in line
--   outgoing     zset     gets what jobs that depend on it have to learn
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
--                next_due as below; early 1: fewer than `count` because of `skip` or `budget`, so there may be more, else 0
--   none         now next_due   nothing is ready; next due time in ms, or 0
--   paused       now            the queue hands nothing out
--   full         now            the in-flight bound is reached
--   more         now            only dead entries so far: call again
-- COUNTS jobs:4
-- INCLUDES ids record run ready wake due registry events stats remove promote outgoing
local asked = tonumber(count)
local most = asked
local in_flight_max = tonumber(in_flight)
local skip_max = tonumber(skip)

local function wait_for_more()
  local mark_ms = tonumber(mark)
  if mark_ms > 0 then mark_waiting(mark_ms) end
end

local function nothing(word, next_due)
  wait_for_more()
  return {word, now, next_due}
end

if redis.call('HEXISTS', flags, 'p:' .. queue) == 1 then return nothing('paused') end
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

local lease_end = string.format('%d', now + ttr) -- as text: Redis turns a number into one for each job
local has_prio, has_expiring, list = false, false, ready
if redis.call('EXISTS', prio, expiring, front) > 0 then
  has_prio, has_expiring = redis.call('EXISTS', prio) == 1, redis.call('EXISTS', expiring) == 1
  if redis.call('EXISTS', front) == 1 then list = front end
end
local reply, waits = {'jobs', now, 0, 0}, {}
local delivered, tombstones, expired, skipped = 0, 0, 0, 0
local SMALL_BODY = 4096
local bytes, chunk = 0, 16 -- the first few say how large the bodies are
local bytes_max = tonumber(budget)
local burned = freeze == '1' and 0 or 1
local last_consumer = ARGV[#ARGV]
local FREED_BYTES = 16384 -- to free so many takes about as long as to skip an entry
local CHUNK_MAX = 64 -- what one look-up may read, whatever comes after small ones

-- How many ids to take off the queue. Behind a dead entry there may be very many: what is not wanted of them goes back.
local function fetch_size()
  if tombstones + expired > 0 then return CHUNK_MAX end
  return math.min(most - delivered, chunk)
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

-- What comes again from job to job is not formatted again.
local numbers, numbers_attempt, numbers_wait, numbers_size = '', 0, 0, 0
local function format_numbers(attempt, wait, size)
  if attempt ~= numbers_attempt or wait ~= numbers_wait or size ~= numbers_size then
    numbers_attempt, numbers_wait, numbers_size = attempt, wait, size
    numbers = string.format('\t%d\t%d\t\t%d\t', attempt, wait, size)
  end
  return numbers
end

-- Hands out one job. → its new run, or nil if it has expired
local function hand_out(id, raw, raw_run)
  local tries, expires, due_ms, options, body_at = unpack_record(raw)
  local attempt, used, depended, history = 0, 0, 0, ''
  if raw_run then
    local history_at, marks, _
    attempt, used, tries, marks, expires, due_ms, _, _, _, history_at = struct.unpack(RUN, raw_run)
    history = string.sub(raw_run, history_at)
    if marks >= DEPENDED then depended = DEPENDED end
  end
  if expires > 0 and expires <= now then
    emit('expired', id, attempt, '', '', '')
    return nil
  end
  attempt = attempt + 1
  if used < U16_MAX then used = used + burned end
  due_ms = due_ms or id_time(id)
  local wait = now > due_ms and now - due_ms or 0
  local body = string.sub(raw, body_at)
  bytes = bytes + #body
  delivered = delivered + 1
  waits[delivered] = wait
  local consumer = ARGV[REST - 1 + delivered] or last_consumer
  reply[delivered + 4] = {id, attempt, used, tries, expires, options, body}
  emit_line('consumed\t' .. id .. format_numbers(attempt, wait, #body) .. consumer .. '\t')
  return struct.pack(RUN, attempt, used, tries, 1 - burned + depended, expires, due_ms, now, #options, options, #consumer,
    consumer) .. history
end

-- Whether it is known that no job in line lives. `expiring` has delayed jobs as well; each is taken for one that has expired.
local function is_known_dead()
  local known = redis.call('ZCOUNT', expiring, '-inf', now)
  if known == 0 then return false end
  local elsewhere = redis.call('ZCARD', delayed) + redis.call('ZCARD', retry) + redis.call('ZCARD', blocked)
  return ready_size() + tombstones <= known - math.min(known, elsewhere)
end

-- The records of these ids, in order. None is read of a job that is in `lapsed`.
local function read_records(ids, lapsed)
  if not lapsed then return #ids > 0 and redis.call('HMGET', jobs, unpack(ids)) end
  local wanted, places, records = {}, {}, {}
  for i, id in ipairs(ids) do
    if not lapsed[id] then wanted[#wanted + 1], places[#places + 1] = id, i end
  end
  local found = #wanted > 0 and redis.call('HMGET', jobs, unpack(wanted)) or {}
  for i, record in ipairs(found) do records[places[i]] = record end
  return records
end

local known_dead = false
while delivered < most and skipped < skip_max and bytes < bytes_max and not known_dead do
  local ids, ranks = pop()
  if #ids == 0 then break end
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  local gone, gone_runs, lapsed = {}, {}, nil
  -- A record is long only where there is a run. None is read of a job that has expired or that does not fit any more.
  if #ids > 1 or raw_runs[1] then
    local kept, size, alive = {}, bytes, 0
    for i, id in ipairs(ids) do
      local raw_run, length, expires = raw_runs[i], 0, 0
      if raw_run then
        length, expires = redis.call('HSTRLEN', jobs, id), struct.unpack('>I6', raw_run, RUN_EXPIRES)
      end
      if size >= bytes_max or alive >= most - delivered or skipped >= skip_max then
        put_back(ids, ranks, i)
        break
      elseif length > 0 and expires > 0 and expires <= now then
        -- It is dropped in its turn: what stands behind the last job that is handed out is put back as it was.
        skipped = skipped + math.floor(length / FREED_BYTES)
        lapsed = lapsed or {}
        lapsed[id] = true
      else
        size = size + length
        if length > 0 then alive = alive + 1 end
      end
      kept[i] = id
    end
    ids = kept
  end
  local records = read_records(ids, lapsed)
  local new_runs, leases, handed_out, taken = {}, {}, {}, 0
  for i = 1, #ids do
    local id = ids[i]
    if delivered >= most then
      put_back(ids, ranks, i)
      break
    end
    local run = records[i] and hand_out(id, records[i], raw_runs[i])
    if run then
      new_runs[taken + 1], new_runs[taken + 2] = id, run
      leases[taken + 1], leases[taken + 2] = lease_end, id
      handed_out[taken / 2 + 1] = id
      taken = taken + 2
    elseif lapsed and lapsed[id] then
      emit('expired', id, (struct.unpack('>I4', raw_runs[i])), '', '', '')
      gone[#gone + 1], gone_runs[#gone + 1] = id, raw_runs[i]
    elseif records[i] then
      gone[#gone + 1], gone_runs[#gone + 1] = id, raw_runs[i]
    else
      tombstones = tombstones + 1
      skipped = skipped + 1
    end
  end
  if #gone > 0 then
    drop_records(gone)
    note_gone(gone, 'expired', gone_runs)
    if has_expiring then redis.call('ZREM', expiring, unpack(gone)) end
    expired = expired + #gone
    skipped = skipped + 2 * #gone
    known_dead = has_expiring and is_known_dead() -- the sweeper deletes the rest
  end
  if taken > 0 then
    redis.call('HSET', runs, unpack(new_runs))
    redis.call('ZADD', working, unpack(leases))
    if has_expiring then redis.call('ZREM', expiring, unpack(handed_out)) end
  end
  if bytes < delivered * SMALL_BODY then chunk = CHUNK_MAX end
end

if tombstones > 0 then count_tombstones(-tombstones) end
if expired > 0 then
  count_stat('x', expired)
  forget_if_empty()
end
if delivered > 0 then
  lower_index(ends, lease_end)
  count_durations('w', waits)
end
flush_events()
local early = not known_dead and (skipped >= skip_max or bytes >= bytes_max)
if delivered > 0 then
  if delivered < asked then
    reply[3] = next_due
    if early then reply[4] = 1 else wait_for_more() end
  end
  return reply
end
if early then return {'more', now} end
return nothing('none', next_due)
