-- scan: looks at all waiting jobs of a queue whose horizon (lib/expiry_horizon.lua) has come, some at a time, and puts those that
-- expire before the new horizon into `expiring`, as well as those that have expired.
-- The new horizon is set first, so jobs that begin to wait during the scan heed it. Jobs go from where they are to where
-- the scan comes later: delayed and retry are scanned before `lines` and the list, and the list from its tail, for counted from there
-- a place only moves towards the head. Delayed jobs that are due behind the horizon do not expire before it.
-- `s:QUEUE` in `flags` is the place: segment, score or index, id.
-- INCLUDES record run has_expired jobs_in_order
local SCAN_AHEAD_MS = 600000
local SCAN_AHEAD_PER_JOB_MS = 1 -- to look at a job takes a thousandth of that
local SCAN_CHUNK = 100
local RUN_COST = 4096 -- to read so many bytes of runs counts as much as to look at one job: ten long errors make 13 KiB
local NEXT_SEGMENT = {delayed = 'retry', retry = 'prio', prio = 'lines', lines = 'list'}

-- Puts those of `ids` into `expiring` that expire before the horizon. → what the look cost, earliest expiry of the others or
-- nil. An id without a record is passed over. No long record is read: such jobs have a run.
local function look_at_expiry(ids, horizon)
  if #ids == 0 then return 0, nil end
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  local coming, earliest, size = {}, nil, 0
  for i, id in ipairs(ids) do
    size = size + #(raw_runs[i] or '')
    local expires = expiry_of(id, raw_runs[i]) or 0
    if expires > 0 and expires < horizon then
      coming[#coming + 1] = expires
      coming[#coming + 1] = id
    elseif expires > 0 then
      earliest = math.min(earliest or expires, expires)
    end
  end
  if #coming > 0 then redis.call('ZADD', expiring, unpack(coming)) end
  return #ids + math.floor(size / RUN_COST), earliest
end

-- The next `most` ids of a set behind a place, those due before `bound`. → ids, score of the last, that of the first
-- behind the bound if it came so far
local function next_of_set(set, score, id, most, bound)
  local start = id ~= '' and rank_behind(set, score, id) or 0
  local found = redis.call('ZRANGE', set, start, start + most - 1, 'WITHSCORES')
  local ids = {}
  for i = 1, #found, 2 do
    local its_score = tonumber(found[i + 1])
    if its_score >= bound then return ids, score, its_score end
    ids[#ids + 1] = found[i]
    score = its_score
  end
  return ids, score
end

-- The `most` ids of the list before a place counted from its tail.
local function next_of_list(index, most)
  local last = redis.call('LLEN', ready) - 1 - index
  return last >= 0 and redis.call('LRANGE', ready, math.max(0, last - most + 1), last) or {}
end

-- → horizon, segment, score or index, id. A scan begins if none is under way.
local function scan_place()
  local state = redis.call('HMGET', flags, 'h:' .. queue, 's:' .. queue)
  if state[2] then
    local segment, position, id = string.match(state[2], '^(%a+) (%d+) (%w*)$')
    return tonumber(state[1]), segment, tonumber(position), id
  end
  return now + math.max(SCAN_AHEAD_MS, redis.call('HLEN', jobs) * SCAN_AHEAD_PER_JOB_MS), 'delayed', 0, ''
end

-- Looks at `most` jobs, or fewer if their runs are long.
local function scan(most)
  local horizon, segment, position, id = scan_place()
  local is_first = segment == 'delayed' and id == ''
  redis.call('HDEL', flags, 's:' .. queue, 'h:' .. queue) -- first, so that a full Redis lets what follows through
  local earliest -- expiry of those that are not in `expiring`, or a time before it
  local function note(ms) earliest = ms and math.min(earliest or ms, ms) or earliest end
  while segment and most > 0 do
    local few, ids, due_behind, last_member = math.min(most, SCAN_CHUNK), nil, nil, nil
    if segment == 'list' then
      ids = next_of_list(position, few)
      position = position + #ids
    elseif segment == 'lines' then
      local members = next_of_lines(id ~= '' and from_hex(id), few)
      ids = {}
      for i, member in ipairs(members) do ids[i] = string.sub(member, -26) end
      last_member = members[#members]
    elseif segment == 'prio' then
      ids, position = next_of_set(prio, position, id, few, math.huge)
    else
      ids, position, due_behind = next_of_set(segment == 'retry' and retry or delayed, position, id, few, horizon)
    end
    local cost, its_earliest = look_at_expiry(ids, horizon)
    note(its_earliest)
    note(due_behind)
    most = most - cost
    id = segment == 'list' and '' or last_member and to_hex(last_member) or ids[#ids]
    if #ids < few then segment, position, id = NEXT_SEGMENT[segment], 0, '' end
  end
  if segment then
    redis.call('HSET', flags, 'h:' .. queue, horizon, 's:' .. queue, string.format('%s %.0f %s', segment, position, id))
  elseif not is_first then
    redis.call('HSET', flags, 'h:' .. queue, horizon) -- jobs that came during the scan may expire from then on
  elseif earliest then
    redis.call('HSET', flags, 'h:' .. queue, earliest)
  end
end
