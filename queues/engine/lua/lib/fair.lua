-- fair: jobs with a limit key (a tenant, an account) share their queue fairly, each key by its weight and within its limits.
--   lines   zset, scores 0: the ready jobs of all keys, each KEY, a zero byte, RANK, ID; so they are in order of keys, and of
--           one key in the order in which they come. RANK: u8 100 - priority, u48 number, counted by `l:QUEUE` in `flags`
--   turns   zset: key -> when its turn comes, in one of three ranges of scores:
--           from 0        it has ready jobs; virtual time at which the next of them starts; the least is next
--           from -2^52    ms - 2^52: it has ready jobs and is at a limit; looked at again then, or when an attempt ends
--           below         ms - 2^53: it has none; what is known of it is forgotten then
--   shares  hash: key -> u32 jobs that are worked on; virtual start time (double); theoretical arrival time, µs (double)
--           ""  -> virtual time; the start time of jobs without a key; theoretical arrival time of the queue (doubles)
-- Start-time fair queueing (Goyal, Vin and Cheng, 1996): a job that starts at virtual time t lets the next of its key start at
-- t + 1 / weight. Virtual time is the latest start time of a job that was delivered; a key that comes back starts there.
-- Rates are those of the generic cell rate algorithm: one time per key, up to which its past jobs have used its rate.
-- INCLUDES ready expiry_horizon
local TURN_LIMITED = 4503599627370496 -- 2^52
local TURN_RESTS = 9007199254740992 -- 2^53
local SHARE_KEPT_MS = 10000 -- for so long a key without jobs is remembered that has had more than its share
local SHARE = '>I4dd'
local CLOCK = '>ddd'
local LINE_START = 140737488355328 -- 2^47: there is room before the first job, too
local RANK_BYTES = 7
local ID_BYTES = 26
local LINE_KEY_END = -2 - RANK_BYTES - ID_BYTES -- where the key ends in a member of `lines`, from the member's end

local function format_turn(score) return string.format('%.0f', score) end

-- → jobs that are worked on, virtual start time, theoretical arrival time
local function unpack_share(raw)
  if not raw then return 0, 0, 0 end
  return struct.unpack(SHARE, raw)
end

-- → virtual time, start time of jobs without a key, theoretical arrival time of the queue
local function unpack_clock(raw)
  if not raw then return 0, 0, 0 end
  return struct.unpack(CLOCK, raw)
end

-- Bounds of all members of `lines` that begin with `prefix`; it ends in a byte below 255.
local function line_bounds(prefix)
  return '[' .. prefix, '(' .. string.sub(prefix, 1, -2) .. string.char(string.byte(prefix, -1) + 1)
end

-- The jobs of a key in their order, as members of `lines`.
local function range_line(its_key, first, most)
  return redis.call('ZRANGE', lines, '[' .. its_key .. '\0', '(' .. its_key .. '\1', 'BYLEX', 'LIMIT', first, most)
end

-- The key's score in `turns`, nil if it has no ready job.
local function turn_of(its_key)
  local score = tonumber(redis.call('ZSCORE', turns, its_key) or nil)
  return score and score >= -TURN_LIMITED and score or nil
end

-- Until when a key without jobs is remembered, ms; nil: nothing is to be known of it.
local function remembered_until(virtual, start, tat)
  local until_ms = math.max(start > virtual and now + SHARE_KEPT_MS or 0, math.ceil(tat / 1000))
  return until_ms > now and until_ms or nil
end

-- Notes a key's share. `turn`: its score in `turns`, nil if it has no ready job. A key that nothing is to be known of is
-- forgotten.
local function write_share(its_key, virtual, in_work, start, tat, turn)
  redis.call('HDEL', shares, its_key) -- first, so that a full Redis lets the rest through
  if not turn then redis.call('ZREM', turns, its_key) end
  if not turn and in_work == 0 then
    local until_ms = remembered_until(virtual, start, tat)
    if not until_ms then return end
    turn = until_ms - TURN_RESTS
    schedule_sweep(until_ms)
  end
  if turn then redis.call('ZADD', turns, format_turn(turn), its_key) end
  redis.call('HSET', shares, its_key, struct.pack(SHARE, in_work, start, tat))
end

-- → virtual time, jobs of the key that are worked on, its virtual start time, its theoretical arrival time
local function read_share(its_key)
  local raw = redis.call('HMGET', shares, '', its_key)
  local virtual = unpack_clock(raw[1])
  local in_work, start, tat = unpack_share(raw[2])
  return virtual, in_work, start, tat
end

-- Call when `number` attempts at jobs of this key have ended: if it is at a limit, it may go on.
local function leave_slots(its_key, number)
  local virtual, in_work, start, tat = read_share(its_key)
  local turn = turn_of(its_key)
  if turn and turn < 0 then turn = math.max(virtual, start) end
  write_share(its_key, virtual, math.max(0, in_work - number), start, tat, turn)
end

local function leave_slot_of(options)
  local its_key = limit_key_of(options)
  if its_key then leave_slots(its_key, 1) end
end

-- Call when a key has got ready jobs.
local function join_turns(its_key)
  if turn_of(its_key) then return end
  local virtual, _, start = read_share(its_key)
  redis.call('ZADD', turns, format_turn(math.max(virtual, start)), its_key)
end

-- Call when ready jobs of a key have been taken away.
local function leave_turns(its_key)
  if #range_line(its_key, 0, 1) > 0 then return end
  local virtual, in_work, start, tat = read_share(its_key)
  write_share(its_key, virtual, in_work, math.max(start, turn_of(its_key) or 0), tat, nil)
end

-- Puts a job that has a place into the line of its key: at the end of those of its priority, or before them.
local function join_line(id, place, at_head)
  local zero = key_end(place)
  local band, number = string.sub(place, 1, zero + 1), nil
  if at_head then
    local from, to = line_bounds(band)
    local first = redis.call('ZRANGEBYLEX', lines, from, to, 'LIMIT', 0, 1)[1]
    number = first and struct.unpack('>I6', first, zero + 2) - 1
  end
  number = number or LINE_START + redis.call('HINCRBY', flags, 'l:' .. queue, 1)
  place = band .. struct.pack('>I6', number)
  redis.call('HSET', priorities, id, place)
  redis.call('ZADD', lines, 0, place .. id)
  join_turns(string.sub(place, 1, zero - 1))
end

-- Takes a ready job out of the line of its key. It must be there.
local function leave_line(id, place)
  redis.call('ZREM', lines, place .. id)
  leave_turns(string.sub(place, 1, key_end(place) - 1))
end

-- Drops what is known of keys whose time has come, at most `most`. → when there is more to drop, or nil
local function forget_shares(most)
  local gone = redis.call('ZRANGEBYSCORE', turns, '-inf', format_turn(now - TURN_RESTS), 'LIMIT', 0, most)
  if #gone > 0 then
    redis.call('ZREM', turns, unpack(gone))
    redis.call('HDEL', shares, unpack(gone))
  end
  local clock = redis.call('HGET', shares, '')
  if not clock then return nil end
  local next_at = now + SHARE_KEPT_MS
  if redis.call('HLEN', shares) == 1 and redis.call('EXISTS', turns) == 0 then
    local _, _, tat = unpack_clock(clock)
    next_at = math.ceil(tat / 1000)
    if next_at <= now then
      redis.call('HDEL', shares, '')
      return nil
    end
  end
  return #gone == most and now or next_at
end
