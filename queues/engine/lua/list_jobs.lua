-- list_jobs: a page of the jobs in one state, in their order: next to be handed out, due, or ended first.
-- A cursor names the last job of the page before, so a set that changes between pages neither repeats nor skips what
-- stayed; for the ready list the place is found again by the id within 10,000 entries. One page looks at so many entries
-- of the list at the most, whatever the number of tombstones; it may then be short, even empty, though more follow.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     results
--   ready        list     ready jobs
--   prio         zset     ready jobs of other priorities
--   priorities   hash     priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   dead         zset     dead jobs
--   completed    zset     completed jobs
-- ARGV
--   now_ms       ms or ""
--   state        one of the six
--   after        "" or the cursor: `segment:index-or-score:id`
--   limit        jobs
--   preview      bytes of each body
--   budget       bytes of records that one page may read
-- REPLIES
--   page         now cursor-or-"" job ...    jobs as in detail
-- INCLUDES ready look
limit, preview, budget = tonumber(limit), tonumber(preview), tonumber(budget)
local SETS = {delayed = delayed, retry = retry, working = working, dead = dead, completed = completed}
local VISITS_MAX = 10000
local page = {'page', now, ''}
local segment, place, last = string.match(after, '^(%a+):(%-?%d+%.?%d*):(%w+)$')
place = tonumber(place)

-- Adds jobs to the page. → whether the page is full
local function add(ids, name, place_of)
  for i, id in ipairs(ids) do
    local size = redis.call('HSTRLEN', jobs, id)
    if size > 0 then
      if #page - 3 >= limit or (budget < size and #page > 3) then return true end
      budget = budget - size
      page[#page + 1] = look(id, preview)
    end
    page[3] = name .. ':' .. place_of(i) .. ':' .. id
  end
  return #page - 3 >= limit
end

-- Rank of the first member behind a place, which may be gone by now: members of one score are in the order of their ids.
local function rank_behind(key, score, id)
  local text = string.format('%.0f', score)
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. text), redis.call('ZCOUNT', key, '-inf', text)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] > id then high = middle else low = middle + 1 end
  end
  return low
end

-- A zset by rank, from behind the cursor. Score bounds keep a segment of `prio` apart from the other.
local function add_zset(name, key, min, max)
  local start = segment == name and rank_behind(key, place, last) or redis.call('ZCOUNT', key, '-inf', min)
  local stop = redis.call('ZCOUNT', key, '-inf', max)
  local wanted = math.min(limit - (#page - 3), stop - start)
  if wanted <= 0 then return #page - 3 >= limit end
  local found = redis.call('ZRANGE', key, start, start + wanted - 1, 'WITHSCORES')
  local ids = {}
  for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
  return add(ids, name, function(i) return string.format('%.0f', tonumber(found[2 * i])) end)
    or start + wanted < stop
end

local function add_list()
  local start = 0
  if segment == 'list' then
    start = place + 1
    if redis.call('LINDEX', ready, place) ~= last then
      local at = redis.call('LPOS', ready, last, 'MAXLEN', VISITS_MAX)
      start = at and at + 1 or math.max(0, place)
    end
  end
  local stop = start + VISITS_MAX
  while #page - 3 < limit and start < stop do
    local ids = redis.call('LRANGE', ready, start, start + limit - 1)
    if #ids == 0 then return false end
    if add(ids, 'list', function(i) return start + i - 1 end) then return true end
    start = start + #ids
  end
  return true
end

local full
if state ~= 'ready' then
  full = add_zset(state, SETS[state], '-inf', '+inf')
else
  local below = string.format('(%.0f', RANK_DEFAULT)
  if after == '' or segment == 'high' then full = add_zset('high', prio, '-inf', below) end
  if not full and segment ~= 'low' then
    full = add_list()
    if segment == 'list' then segment = nil end
  end
  if not full then full = add_zset('low', prio, below, '+inf') end
end
if not full then page[3] = '' end
return page
