-- ready: the default priority is a list, O(1); any other is a zset beside it whose score is the rank
--   (100 - priority) * 2^44 + ms when it became ready
-- so that a higher priority comes first, and within one the earlier. Rank stays below 2^53, exact in a double.
-- Jobs of one millisecond count on from the last one's ms (at the head: down from the first one's), so they keep their order.
-- The list may hold tombstones: ids whose record was deleted or expired. `t:QUEUE` in `flags` counts them (no LREM).
-- While the sweeper takes many of them out (lib/compact.lua) the list is in two parts: `front` goes before `ready`.
-- `ready` is empty only if `front` is.
-- Jobs with a limit key are in neither, but in `lines` (lib/fair.lua).
-- INCLUDES expiry_horizon
local RANK_STEP = 17592186044416 -- 2^44
local RANK_DEFAULT = 1759218604441600 -- of priority 0

local function format_rank(rank) return string.format('%.0f', rank) end

-- The rank behind, or before, all jobs of this priority.
local function free_rank(priority, at_head)
  local band = (100 - priority) * RANK_STEP
  local from, to = format_rank(band), '(' .. format_rank(band + RANK_STEP)
  if at_head then
    local first = redis.call('ZRANGEBYSCORE', prio, from, to, 'WITHSCORES', 'LIMIT', 0, 1)
    return first[2] and tonumber(first[2]) - 1 or band + now
  end
  local last = redis.call('ZREVRANGEBYSCORE', prio, to, from, 'WITHSCORES', 'LIMIT', 0, 1)
  return math.max(band + now, last[2] and tonumber(last[2]) + 1 or 0)
end

-- A job without a limit key; with one: lib/ready_places.lua.
local function put_plain(id, priority)
  if priority == 0 then
    redis.call('RPUSH', ready, id)
  else
    redis.call('ZADD', prio, format_rank(free_rank(priority, false)), id)
  end
end

local function put_plain_at_head(id, priority)
  if priority ~= 0 then
    redis.call('ZADD', prio, format_rank(free_rank(priority, true)), id)
  elseif redis.call('LPUSHX', front, id) == 0 then
    redis.call('LPUSH', ready, id)
  end
end

-- Of new jobs: ids[2] and those behind it.
local function note_priorities(ids, its_priority)
  if its_priority == 0 then return end
  local its_priorities = {}
  for i = 2, #ids do its_priorities[2 * i - 3], its_priorities[2 * i - 2] = ids[i], its_priority end
  redis.call('HSET', priorities, unpack(its_priorities))
end

local function place_plain(ids, its_priority, is_delayed, are_noted)
  if not are_noted then note_priorities(ids, its_priority) end
  if is_delayed then return end
  if its_priority == 0 then
    redis.call('RPUSH', ready, unpack(ids, 2))
  else
    local rank, members = free_rank(its_priority, false), {}
    for i = 2, #ids do members[2 * i - 3], members[2 * i - 2] = format_rank(rank + i - 2), ids[i] end
    redis.call('ZADD', prio, unpack(members))
  end
end

-- What `priorities` says of a job: its priority, as a number in text; false: 0. Of one with a limit key: KEY, a zero byte,
-- and its rank among the jobs of the key: u8 100 - priority, u48 number (lib/fair.lua).
local function place_of(id) return redis.call('HGET', priorities, id) end

-- → where the zero byte is, nil in the place of a job without a limit key
local function key_end(place) return place and string.find(place, '%z') end

local function priority_in(place)
  local zero = key_end(place)
  if zero then return 100 - string.byte(place, zero + 1) end
  return tonumber(place or 0)
end

local function priority_of(id) return priority_in(place_of(id)) end

-- The next job in `prio` if it goes before the list, or the list is empty.
local function first_of_prio()
  local head = redis.call('ZRANGE', prio, 0, 0, 'WITHSCORES')
  if head[1] and (tonumber(head[2]) < RANK_DEFAULT or redis.call('LLEN', ready) == 0) then return head[1] end
end

-- The next jobs in `prio`, at most `most`, as far as they go before the list, or the list is empty. → ids, ranks
local function next_of_prio(most)
  local found = redis.call('ZRANGE', prio, 0, most - 1, 'WITHSCORES')
  local ids, ranks, is_low = {}, {}, false
  for i = 1, #found, 2 do
    if not is_low and tonumber(found[i + 1]) >= RANK_DEFAULT then
      if redis.call('LLEN', ready) > 0 then break end
      is_low = true
    end
    ids[#ids + 1], ranks[#ranks + 1] = found[i], found[i + 1]
  end
  return ids, ranks
end

-- Ids of the ready list from place `first` to `last`.
local function range_ready(first, last)
  local in_front = redis.call('LLEN', front)
  if in_front == 0 then return redis.call('LRANGE', ready, first, last) end
  local ids = first < in_front and redis.call('LRANGE', front, first, last) or {}
  if last >= in_front then
    local others = redis.call('LRANGE', ready, math.max(0, first - in_front), last - in_front)
    for _, id in ipairs(others) do ids[#ids + 1] = id end
  end
  return ids
end

-- So many tombstones are borne before the sweeper is asked to take them out.
local TOMBSTONES_MAX = 500

-- `change` tombstones came or went; drops the list when nothing else is in it, and clears its head of a few.
local function count_tombstones(change)
  local field = 't:' .. queue
  local left = redis.call('HINCRBY', flags, field, change)
  if left > 0 and change > 0 then
    local in_front = redis.call('LLEN', front)
    if left >= in_front + redis.call('LLEN', ready) then
      redis.call('DEL', ready, front)
      left = 0
    else
      local list = in_front > 0 and front or ready
      for _ = 1, 8 do
        local id = redis.call('LINDEX', list, 0)
        if left == 0 or not id or redis.call('HEXISTS', jobs, id) == 1 then break end
        redis.call('LPOP', list)
        left = redis.call('HINCRBY', flags, field, -1)
      end
      if left > TOMBSTONES_MAX then schedule_sweep(now) end
    end
  end
  if left <= 0 then redis.call('HDEL', flags, field) end
end

-- Ready jobs without a limit key.
local function plain_size()
  local tombstones = tonumber(redis.call('HGET', flags, 't:' .. queue) or 0)
  return redis.call('LLEN', ready) + redis.call('LLEN', front) - tombstones + redis.call('ZCARD', prio)
end

local function ready_size() return plain_size() + redis.call('ZCARD', lines) end

local function anything_ready() return redis.call('EXISTS', ready, prio, lines) > 0 end
