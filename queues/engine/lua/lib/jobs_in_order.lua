-- jobs_in_order: the jobs of one state in their order: next to be delivered, due, or ended first; or from the end of it.
-- A cursor names the last entry that was seen, as `segment:index-or-score:id`, so a set that changes between two walks
-- neither repeats nor skips what stayed; in the ready list the place is found again by the id within 10,000 entries.
-- Jobs with limit keys come last, key by key; their place is told in hexadecimal digits, for it begins with the key.
-- INCLUDES ready
local VISITS_MAX = 10000
local WALK_CHUNK = 100
local walk_left = 0
local walk_place = ''

-- → whether the walk ends here: enough has been seen, or `visit` refused an id (which the next walk begins with)
local function show(ids, name, place_of, visit)
  for i, id in ipairs(ids) do
    if walk_left == 0 or not visit(id) then return true end
    walk_left = walk_left - 1
    walk_place = name .. ':' .. place_of(i) .. ':' .. id
  end
  return false
end

-- Rank of the first member behind a place, which may be gone by now: members of one score are in the order of their ids.
local function rank_behind(set, score, id)
  local text = string.format('%.0f', score)
  local low, high = redis.call('ZCOUNT', set, '-inf', '(' .. text), redis.call('ZCOUNT', set, '-inf', text)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', set, middle, middle)[1] > id then high = middle else low = middle + 1 end
  end
  return low
end

-- Members of the ranks from `start` to before `stop`. → as `show`
local function walk_zset(name, set, start, stop, visit)
  while start < stop do
    local found = redis.call('ZRANGE', set, start, math.min(start + WALK_CHUNK, stop) - 1, 'WITHSCORES')
    local ids = {}
    for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
    if show(ids, name, function(i) return string.format('%.0f', tonumber(found[2 * i])) end, visit) then return true end
    start = start + WALK_CHUNK
  end
  return false
end

-- Rank of the first member at a place or behind it.
local function rank_at(set, score, id)
  local rank = rank_behind(set, score, id)
  return rank > 0 and redis.call('ZRANGE', set, rank - 1, rank - 1)[1] == id and rank - 1 or rank
end

-- Members of the ranks from before `stop` back to `start`. → as `show`
local function walk_zset_back(name, set, start, stop, visit)
  while stop > start do
    local first = math.max(start, stop - WALK_CHUNK)
    local found = redis.call('ZRANGE', set, first, stop - 1, 'WITHSCORES')
    local ids, scores = {}, {}
    for i = #found - 1, 1, -2 do ids[#ids + 1], scores[#scores + 1] = found[i], found[i + 1] end
    if show(ids, name, function(i) return string.format('%.0f', tonumber(scores[i])) end, visit) then return true end
    stop = first
  end
  return false
end

-- Index of the first entry of the ready list behind a place. Jobs leave at the head only: one that was not far from it and
-- is not found has gone there, with all that were before it. Deep in the list nothing better is known than the index
-- itself, so what the sweeper takes out before it meanwhile (lib/compact.lua) makes a listing skip as many.
local function index_behind(index, id)
  if range_ready(index, index)[1] == id then return index + 1 end
  local at = redis.call('LPOS', front, id, 'MAXLEN', VISITS_MAX)
  if at then return at + 1 end
  at = redis.call('LPOS', ready, id, 'MAXLEN', VISITS_MAX)
  if at then return at + redis.call('LLEN', front) + 1 end
  return index < VISITS_MAX / 2 and 0 or index
end

-- → as `show`
local function walk_list(start, visit)
  repeat
    local ids = range_ready(start, start + WALK_CHUNK - 1)
    if show(ids, 'list', function(i) return start + i - 1 end, visit) then return true end
    start = start + #ids
  until #ids == 0
  return false
end

-- Index of the entry at a place of the ready list: jobs come at the end only, and a page from there is near it.
local function index_at(index, id)
  if range_ready(index, index)[1] == id then return index end
  local at = redis.call('LPOS', ready, id, 'RANK', -1, 'MAXLEN', VISITS_MAX)
  if at then return at + redis.call('LLEN', front) end
  return redis.call('LPOS', front, id, 'MAXLEN', VISITS_MAX) or index
end

-- Entries from before `stop` back to the first. → as `show`
local function walk_list_back(stop, visit)
  while stop > 0 do
    local first = math.max(0, stop - WALK_CHUNK)
    local found, ids = range_ready(first, stop - 1), {}
    for i = #found, 1, -1 do ids[#ids + 1] = found[i] end
    local last = first + #found
    if show(ids, 'list', function(i) return last - i end, visit) then return true end
    stop = first
  end
  return false
end

local function to_hex(text)
  return (string.gsub(text, '.', function(character) return string.format('%02x', string.byte(character)) end))
end

local function from_hex(digits)
  return (string.gsub(digits, '%x%x', function(pair) return string.char(tonumber(pair, 16)) end))
end

-- The next `most` members of `lines` behind one, or from the first on.
local function next_of_lines(member, most)
  return redis.call('ZRANGEBYLEX', lines, member and '(' .. member or '-', '+', 'LIMIT', 0, most)
end

-- → as `show`
local function walk_lines(member, visit)
  repeat
    local members = next_of_lines(member, WALK_CHUNK)
    for _, its_member in ipairs(members) do
      if walk_left == 0 or not visit(string.sub(its_member, -26)) then return true end
      walk_left = walk_left - 1
      walk_place = 'keyed:0:' .. to_hex(its_member)
      member = its_member
    end
  until #members < WALK_CHUNK
  return false
end

-- The same from the last member, or the one before `member`, back. → as `show`
local function walk_lines_back(member, visit)
  repeat
    local members = redis.call('ZREVRANGEBYLEX', lines, member and '(' .. member or '+', '-', 'LIMIT', 0, WALK_CHUNK)
    for _, its_member in ipairs(members) do
      if walk_left == 0 or not visit(string.sub(its_member, -26)) then return true end
      walk_left = walk_left - 1
      walk_place = 'keyed:0:' .. to_hex(its_member)
      member = its_member
    end
  until #members < WALK_CHUNK
  return false
end

-- Score bounds keep the two segments of `prio` apart: `high` goes before the list, `low` after it.
local function walk_ready(segment, index, id, visit)
  if segment == 'keyed' then return walk_lines(from_hex(id), visit) end
  local below = string.format('(%.0f', RANK_DEFAULT)
  local middle = redis.call('ZCOUNT', prio, '-inf', below)
  if segment ~= 'list' and segment ~= 'low' then
    local start = segment == 'high' and rank_behind(prio, index, id) or 0
    if walk_zset('high', prio, start, middle, visit) then return true end
  end
  if segment ~= 'low' and walk_list(segment == 'list' and index_behind(index, id) or 0, visit) then return true end
  local start = segment == 'low' and math.max(middle, rank_behind(prio, index, id)) or middle
  return walk_zset('low', prio, start, redis.call('ZCARD', prio), visit) or walk_lines(nil, visit)
end

-- The same from the end: keyed jobs, low ones, the list, high ones.
local function walk_ready_back(segment, index, id, visit)
  if not segment or segment == 'keyed' then
    if walk_lines_back(segment and from_hex(id), visit) then return true end
  end
  local middle = redis.call('ZCOUNT', prio, '-inf', string.format('(%.0f', RANK_DEFAULT))
  if segment ~= 'list' and segment ~= 'high' then
    local stop = segment == 'low' and rank_at(prio, index, id) or redis.call('ZCARD', prio)
    if walk_zset_back('low', prio, middle, stop, visit) then return true end
  end
  if segment ~= 'high' then
    local stop = segment == 'list' and index_at(index, id) or redis.call('LLEN', front) + redis.call('LLEN', ready)
    if walk_list_back(stop, visit) then return true end
  end
  local stop = segment == 'high' and math.min(middle, rank_at(prio, index, id)) or middle
  return walk_zset_back('high', prio, 0, stop, visit)
end

-- Shows at most `most` entries from behind the cursor to `visit`, which answers whether it takes the id; `latest`: from
-- the end on, before the cursor. Entries of the ready list may be tombstones. → the cursor for the next walk, '' at the end
local function walk(name, set, from, most, visit, latest)
  local segment, index, id = string.match(from, '^(%a+):(%d+):(%w+)$')
  index = tonumber(index)
  walk_left, walk_place = most, from
  local more
  if name == 'ready' then
    more = (latest and walk_ready_back or walk_ready)(segment, index, id, visit)
  elseif latest then
    more = walk_zset_back(name, set, 0, segment == name and rank_at(set, index, id) or redis.call('ZCARD', set), visit)
  else
    more = walk_zset(name, set, segment == name and rank_behind(set, index, id) or 0, redis.call('ZCARD', set), visit)
  end
  return more and walk_place or ''
end
