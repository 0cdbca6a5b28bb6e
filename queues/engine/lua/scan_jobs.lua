-- scan_jobs: the jobs of one state that match a filter, found by looking at so many of them one after another.
-- Texts match anywhere and whatever the case of ASCII letters; an empty one lets everything through, and all must match.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     results
--   ready        list     ready jobs
--   front        list     goes before `ready`
--   prio         zset     ready jobs of other priorities
--   priorities   hash     priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   dead         zset     dead jobs
--   completed    zset     completed jobs
--   flags        hash     tombstones
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   state        one of the six
--   after        "" or the cursor (lua/lib/walk.lua)
--   limit        jobs      that match
--   most         jobs      that are looked at
--   preview      bytes of each body
--   budget       bytes of records and runs: no more jobs are looked at once so many have been read
--   id_text      text in the id
--   key_text     text in the idempotency key
--   name         name of an attribute, "" = any of them
--   value        text in that attribute's value, or without a name in any attribute's name or value
--   error_text   text in the error of the last attempt that failed
--   body_text    text in the body
--   match_max    bytes of a body that is searched here. Lua takes 5 to 12 ms to make 1 MiB lower case: the caller searches
--                a longer one, which comes whole and as if it matched
-- REPLIES
--   page         now cursor-or-"" looked_at size job ...    size: jobs in that state; jobs as in detail
-- INCLUDES record run ready look walk
limit, preview, budget, match_max = tonumber(limit), tonumber(preview), tonumber(budget), tonumber(match_max)
local sets = {delayed = delayed, retry = retry, working = working, dead = dead, completed = completed}
local reads_record = key_text .. name .. value .. body_text ~= ''
local page = {'page', now, '', 0, state == 'ready' and ready_size() or redis.call('ZCARD', sets[state])}
local BEFORE_JOBS = #page
local LOWER_COST = 4 -- what it takes to make a byte lower case, in bytes read

local function has(text, part) return part == '' or string.find(string.lower(text), string.lower(part), 1, true) ~= nil end

local function last_error(id)
  local raw = redis.call('HGET', runs, id) or ''
  local history, at, text = raw ~= '' and unpack_run(raw).history or '', 1, ''
  budget = budget - #raw
  while at <= #history do
    local _
    _, _, _, _, _, text, at = struct.unpack(PAST, history, at)
  end
  return text
end

local function matches_attributes(json)
  if name .. value == '' then return true end
  for its_name, its_value in pairs(json ~= '' and cjson.decode(json) or {}) do
    if name == '' and (has(its_name, value) or has(its_value, value)) then return true end
    if its_name == name and has(its_value, value) then return true end
  end
  return false
end

-- → whether the record matches, as far as is decided here, and how much of it is to be shown (nil: all)
local function matches_record(raw)
  local _, _, _, options, body_at = unpack_record(raw)
  local its_key, attributes = '', ''
  if options ~= '' then
    _, _, _, _, its_key, attributes = struct.unpack('>I6BI6I6Hc0Hc0', options)
  end
  if not (has(its_key, key_text) and matches_attributes(attributes)) then return false end
  if body_text == '' then return true, preview end
  local size = #raw - body_at + 1
  if size > match_max then return true, nil end
  budget = budget - LOWER_COST * size
  return has(string.sub(raw, body_at), body_text), preview
end

local function visit(id)
  if #page - BEFORE_JOBS >= limit then return false end
  local size = redis.call('HSTRLEN', jobs, id)
  if size > 0 and has(id, id_text) then
    if budget <= 0 then return false end
    if error_text == '' or has(last_error(id), error_text) then
      budget = budget - size
      local raw = redis.call('HGET', jobs, id)
      local matches, shown = true, preview
      if reads_record then matches, shown = matches_record(raw) end
      if matches then page[#page + 1] = look(id, shown, state, sets[state], raw) end
    end
  end
  if size > 0 then page[4] = page[4] + 1 end
  return true
end

page[3] = walk(state, sets[state], after, tonumber(most), visit)
return page
