-- consume_with_limits: as consume, for queues whose jobs have limit keys and for queues with limits. Hands out up to `count` ready
-- jobs, the keys by turns (lib/fair.lua); jobs without a key are one more, of the default weight and without a key's limits.
-- A key that is at a limit is put aside until it may go on, so its jobs are not looked at meanwhile.
-- The first write frees (a removal from delayed or from `lines`, or a pop), so consuming goes on when Redis is full.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     popped from its head
--   front        list     goes before `ready`
--   prio         zset     other priorities
--   priorities   hash     of the jobs that are promoted
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
--   delayed      zset     own due jobs
--   retry        zset     own due jobs
--   expiring     zset     which waiting jobs expire soon
--   working      zset     gets the leases
--   keys         hash     whether the queue is still registered when its last job expired
--   flags        hash     paused, tombstones, number of places in lines
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
--   skip         dead entries and keys at a limit that are stepped over, as consume counts them
--   budget       bytes     of bodies, after which no more jobs are taken, so that huge ones come a few at a time
--   limits       of the queue and of its keys (lib/rates_and_weights.lua), "" = none
--   ...          consumers, one line of at most 64 bytes each: the first job's, the second's, ...; the last has all further jobs
-- REPLIES
--   jobs         now next_due early {id attempt used tries expires options body} ...    as those of consume
--   none         now next_due   nothing is ready, or all of it is at a limit; when a job is due or a limit is looked at again
--   paused       now            the queue delivers nothing
--   full         now            the in-flight bound is reached
--   more         now            only dead entries and keys at a limit so far: call again
-- COUNTS jobs:4
-- INCLUDES ready_places deliver due_jobs rates_and_weights
local RECHECK_MS = 5000 -- a key at a limit is looked at again then at the latest, for limits change
local LET_ON_MAX = 64
local MANY_TURNS = 64
local SHORT_LINE = 3 -- so many jobs a key has at the most, on average, where lines are read ahead
local AHEAD_MIN = 4 -- keys whose lines are read ahead together
local JOBS_MAX = 128 -- that a call delivers: a job takes longer than one without a limit key

if redis.call('HEXISTS', flags, 'p:' .. queue) == 1 then return nothing('paused') end
most = math.min(most, JOBS_MAX)
if tonumber(in_flight) > 0 then
  most = math.min(most, tonumber(in_flight) - redis.call('ZCARD', working))
  if most <= 0 then return nothing('full') end
end

local queue_step, queue_burst, at_once, step, burst, weight = read_limits()
-- Of the whole queue, read when it is needed; `raw_clock` nil: not yet.
local raw_clock, virtual, plain_start, queue_tat = nil, 0, 0, 0

local function note_clock(raw)
  raw_clock = raw
  virtual, plain_start, queue_tat = unpack_clock(raw)
end

if queue_step > 0 then
  local free
  note_clock(redis.call('HGET', shares, ''))
  free, queue_tat = conform(queue_tat, queue_step, queue_burst)
  if free <= 0 then return nothing('none', conforms_at(queue_tat, queue_step, queue_burst)) end
  most = math.min(most, free)
end

local next_due = tonumber(redis.call('ZSCORE', due, queue) or 0)
if next_due > 0 and next_due <= now then
  local moved, later = promote_jobs(math.max(tonumber(promote), most))
  next_due = later or 0
  if moved > most then wake_ready(moved - most) end
end
local others = redis.call('EXISTS', expiring, ready, prio)
has_expiring = others > 0 and redis.call('EXISTS', expiring) == 1
local has_plain = others > 0 and (not has_expiring or others > 1)

-- Keys that were at a limit may be let through now.
local let_on = redis.call('ZRANGEBYSCORE', turns, format_turn(-TURN_LIMITED), format_turn(now - TURN_LIMITED), 'LIMIT', 0, LET_ON_MAX)
if #let_on > 0 then
  local raw_shares, scores = redis.call('HMGET', shares, unpack(let_on)), {}
  if raw_clock == nil then note_clock(redis.call('HGET', shares, '')) end
  for i, key_let_on in ipairs(let_on) do
    local _, start = unpack_share(raw_shares[i])
    scores[2 * i - 1], scores[2 * i] = format_turn(math.max(virtual, start)), key_let_on
  end
  redis.call('ZADD', turns, unpack(scores))
end

local function goes_before(one, other)
  return one.start < other.start or one.start == other.start and one.key < other.key
end

-- Those whose turn comes next, in order from place `head` on; the first that may come behind them, as it was when they were
-- loaded, or nil if they are all.
local turn_takers, head, tail, last_loaded = {}, 1, 0, nil
local ahead = {} -- members of `lines`; those of a taker are behind place `fetched`, until `line_end`
local default_stride = math.floor(WEIGHT_UNIT / weight + 0.5)
local has_weights = string.find(limits, '\n', 1, true)
local has_key_limits = at_once > 0 or step > 0

local function insert_turn(taker)
  local low, high = head, tail + 1
  tail = high
  if high == low or goes_before(turn_takers[high - 1], taker) then
    turn_takers[high] = taker
    return
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if goes_before(turn_takers[middle], taker) then low = middle + 1 else high = middle end
  end
  table.insert(turn_takers, low, taker)
end

-- Reads the lines of keys whose turn comes at one virtual time, which are in the order in which their lines are: if these are
-- short, to read those of other keys between them too costs less than to look for each.
local function read_ahead(first, last)
  local most_read, base = (last - first + 1) * (SHORT_LINE + 1), #ahead
  local found = redis.call('ZRANGE', lines, '[' .. turn_takers[first].key .. '\0', '(' .. turn_takers[last].key .. '\1', 'BYLEX',
    'LIMIT', 0, most_read)
  local next_one, taker, its_key = first, nil, nil
  for i = 1, #found do
    local member = found[i]
    local member_key = string.sub(member, 1, LINE_KEY_END)
    if member_key ~= its_key then
      its_key = member_key
      if taker then taker.line_end = base + i - 1 end
      taker = turn_takers[next_one]
      if taker.key == its_key then
        taker.fetched = base + i - 1
        if next_one < last then next_one = next_one + 1 end
      else
        taker = nil
      end
    end
    ahead[base + i] = member
  end
  if taker then
    if #found < most_read then taker.line_end = base + #found else taker.fetched = 0 end -- if it goes on, it is read later
  end
end

local function read_short_lines(loaded)
  if loaded < AHEAD_MIN or redis.call('ZCARD', lines) > SHORT_LINE * redis.call('ZCARD', turns) then return end
  local first = 1
  for i = 2, loaded + 1 do
    if i > loaded or turn_takers[i].start ~= turn_takers[first].start then
      if i - first >= AHEAD_MIN then read_ahead(first, i - 1) end
      first = i
    end
  end
end

local function load_turns(number)
  turn_takers, head, last_loaded, ahead = {}, 1, nil, {}
  local found = redis.call('ZRANGEBYSCORE', turns, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, number)
  local loaded = #found / 2
  local fields = {}
  for i = 1, loaded do fields[i] = found[2 * i - 1] end
  if raw_clock == nil then fields[loaded + 1] = '' end
  local raw_shares = #fields > 0 and redis.call('HMGET', shares, unpack(fields))
  if raw_clock == nil then note_clock(raw_shares[loaded + 1]) end
  for i = 1, loaded do
    local in_work, _, tat = unpack_share(raw_shares[i])
    local taker = {key = found[2 * i - 1], start = tonumber(found[2 * i]), in_work = in_work, tat = tat, fetched = 0}
    if has_weights then taker.stride = stride_of(taker.key, weight) end
    turn_takers[i] = taker
  end
  tail = loaded
  read_short_lines(loaded)
  if loaded == number then last_loaded = {key = turn_takers[number].key, start = turn_takers[number].start} end
  if has_plain then
    insert_turn({key = '', start = math.max(virtual, plain_start), in_work = 0, tat = 0, fetched = 0})
  end
end

-- How many jobs this key may have now, at most `wanted`. With none it is put aside, until when it may have one.
local function limit_taker(taker, wanted)
  if not has_key_limits or taker.key == '' then return wanted end
  if at_once > 0 and taker.in_work + wanted > at_once then
    wanted = at_once - taker.in_work
    if wanted <= 0 then taker.aside_until = now + RECHECK_MS end
  end
  if step > 0 and wanted > 0 then
    local free
    free, taker.tat = conform(taker.tat, step, burst)
    wanted = math.min(wanted, free)
    if free <= 0 then taker.aside_until = math.min(conforms_at(taker.tat, step, burst), now + RECHECK_MS) end
  end
  return wanted
end

-- How many jobs of this key come before the next one's, at most `wanted`.
local function count_in_turn(taker, wanted)
  if wanted == 1 then return 1 end
  local rival = turn_takers[head]
  if last_loaded and (not rival or goes_before(last_loaded, rival)) then rival = last_loaded end
  if not rival then return wanted end
  local lead = rival.start - taker.start
  local stride = taker.stride or default_stride
  if lead < stride then return 1 end
  local number = math.floor(lead / stride) + 1
  if number > 1 and lead % stride == 0 and rival.key < taker.key then number = number - 1 end
  return math.min(number, wanted)
end

local function charge(taker, number)
  taker.start = taker.start + number * (taker.stride or default_stride)
  taker.in_work = taker.in_work + number
  taker.tat = taker.tat + number * step
end

-- Takes jobs without a key off the queue. → ids, their ranks if they were in `prio`, or else the list in which they were
local function pop_plain(number)
  local ids, ranks = next_of_prio(number)
  if #ids > 0 then
    redis.call('ZREM', prio, unpack(ids))
    return ids, ranks
  end
  local list = redis.call('EXISTS', front) == 1 and front or ready
  return redis.call('LPOP', list, number) or {}, nil, list
end

-- Takes ids off the queue. → ids, the key whose turn it was for each, the virtual time at which each starts, where each was
-- (its rank in `prio`, its list, or as a member of `lines`), and all keys whose turn it was
local function pick(number, width)
  load_turns(width)
  local ids, takers, starts, places, touched = {}, {}, {}, {}, {}
  local picked, turn_count, members = 0, 0, places
  while picked < number and skipped < skip_max do
    local taker = turn_takers[head]
    if not taker or last_loaded and goes_before(last_loaded, taker) then break end
    head = head + 1
    if taker.is_empty == nil then
      taker.is_empty = false
      turn_count = turn_count + 1
      touched[turn_count] = taker
    end
    local wanted = limit_taker(taker, number - picked)
    if wanted <= 0 then
      skipped = skipped + 1
    else
      wanted = count_in_turn(taker, wanted)
      local start, stride, got = taker.start, taker.stride or default_stride, 0
      if taker.key == '' then
        local found, ranks, list = pop_plain(wanted)
        got = #found
        has_plain = got > 0 -- and maybe more: behind those of a priority there are others
        taker.is_empty = not has_plain
        if members == places then members = {unpack(places)} end
        for i = 1, got do ids[picked + i], places[picked + i] = found[i], ranks and ranks[i] or list end
      else
        local line, fetched, line_end = ahead, taker.fetched, taker.line_end
        if not line_end then
          line = range_line(taker.key, fetched, wanted + 1)
          fetched, line_end = 0, #line
        end
        got = line_end - fetched
        taker.is_empty = got <= wanted
        if got > wanted then got = wanted end
        taker.fetched = taker.fetched + got
        for i = 1, got do
          local member = line[fetched + i]
          places[picked + i], ids[picked + i] = member, string.sub(member, -ID_BYTES)
          if members ~= places then members[#members + 1] = member end
        end
      end
      for i = picked + 1, picked + got do
        takers[i], starts[i] = taker, start
        start = start + stride
      end
      picked = picked + got
      charge(taker, got)
      if not taker.is_empty then insert_turn(taker) end
    end
  end
  if #members > 0 then redis.call('ZREM', lines, unpack(members)) end
  return ids, takers, starts, places, touched
end

local function put_back(id, taker, place)
  if taker.key ~= '' then
    redis.call('ZADD', lines, 0, place)
    taker.is_empty = false
  else
    has_plain = true
    if place == front or place == ready then redis.call('LPUSH', place, id) else redis.call('ZADD', prio, place, id) end
  end
end

-- Notes what keys whose turn it was have had. Of those that have no ready job left, as `write_share` does, but of all at once.
local function note_turns(touched)
  local new_turns, new_shares, left, forgotten = {}, {}, {}, {}
  local turn_size, share_size, sweep_at = 0, 0, nil
  for i = 1, #touched do
    local taker = touched[i]
    local its_key, turn, is_kept = taker.key, nil, true
    if its_key == '' then
      plain_start = taker.start
      is_kept = false
    elseif not taker.is_empty then
      turn = taker.aside_until and taker.aside_until - TURN_LIMITED or taker.start
    elseif taker.in_work > 0 then
      left[#left + 1] = its_key
    else
      local until_ms = remembered_until(virtual, taker.start, taker.tat)
      if until_ms then
        turn = until_ms - TURN_RESTS
        sweep_at = math.min(sweep_at or until_ms, until_ms)
      else
        left[#left + 1], forgotten[#forgotten + 1] = its_key, its_key
        is_kept = false
      end
    end
    if turn then
      new_turns[turn_size + 1], new_turns[turn_size + 2] = turn, its_key -- Redis formats a number at less cost
      turn_size = turn_size + 2
    end
    if is_kept then
      new_shares[share_size + 1], new_shares[share_size + 2] = its_key, struct.pack(SHARE, taker.in_work, taker.start, taker.tat)
      share_size = share_size + 2
    end
  end
  if #left > 0 then redis.call('ZREM', turns, unpack(left)) end
  if #forgotten > 0 then redis.call('HDEL', shares, unpack(forgotten)) end
  if turn_size > 0 then redis.call('ZADD', turns, unpack(new_turns)) end
  new_shares[share_size + 1], new_shares[share_size + 2] = '', struct.pack(CLOCK, virtual, plain_start, queue_tat)
  redis.call('HSET', shares, unpack(new_shares))
  if sweep_at then schedule_sweep(sweep_at) end
end

local width = 0
while delivered < most and skipped < skip_max and bytes < bytes_max and not known_dead do
  local number = fetch_size()
  width = math.max(width, number + 1)
  local ids, takers, starts, places, touched = pick(number, width)
  if #touched == 0 then break end
  if #ids > 0 then
    local before = delivered
    local first_left, delivered_ids = deliver(ids)
    local next_one = 1
    for i, id in ipairs(ids) do
      if i < first_left and delivered_ids[next_one] == id then
        next_one = next_one + 1
        virtual = math.max(virtual, starts[i])
      else
        charge(takers[i], -1)
        takers[i].aside_until = nil -- what it had been given for was not used
      end
    end
    for i = #ids, first_left, -1 do put_back(ids[i], takers[i], places[i]) end
    queue_tat = queue_tat + (delivered - before) * queue_step
  end
  note_turns(touched)
  width = #ids < number and MANY_TURNS or 0 -- some keys are at a limit, or their jobs have expired
  if known_dead then known_dead = is_known_dead() end -- the sweeper deletes the rest
end
if delivered > 0 and not raw_clock then schedule_sweep(now + SHARE_KEPT_MS) end

-- The next look at a key that is at a limit. One that is later than a look may be has come from before the clock was put back.
if delivered < asked then
  local late = redis.call('ZRANGEBYSCORE', turns, '(' .. format_turn(now + RECHECK_MS - TURN_LIMITED), '(0', 'LIMIT', 0, LET_ON_MAX)
  for _, its_key in ipairs(late) do redis.call('ZADD', turns, format_turn(now + RECHECK_MS - TURN_LIMITED), its_key) end
  local aside = redis.call('ZRANGEBYSCORE', turns, format_turn(-TURN_LIMITED), '(0', 'WITHSCORES', 'LIMIT', 0, 1)
  local again_at = aside[2] and aside[2] + TURN_LIMITED
  if queue_step > 0 then
    local free
    free, queue_tat = conform(queue_tat, queue_step, queue_burst)
    if free <= 0 then again_at = conforms_at(queue_tat, queue_step, queue_burst) end
  end
  if again_at then next_due = next_due > 0 and math.min(next_due, again_at) or again_at end
end
return finish_delivery(next_due)
