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
-- REPLIES
--   page         now cursor-or-"" looked_at size job ...    size: jobs in that state; jobs as in detail
-- INCLUDES record run ready look walk
limit, preview, budget = tonumber(limit), tonumber(preview), tonumber(budget)
local sets = {delayed = delayed, retry = retry, working = working, dead = dead, completed = completed}
local reads_record = key_text .. name .. value .. body_text ~= ''
local page = {'page', now, '', 0, state == 'ready' and ready_size() or redis.call('ZCARD', sets[state])}
local BEFORE_JOBS = #page

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

local function matches_record(id)
  local raw = redis.call('HGET', jobs, id)
  local _, _, _, options, body_at = unpack_record(raw)
  local its_key, attributes = '', ''
  if options ~= '' then
    _, _, _, _, its_key, attributes = struct.unpack('>I6BI6I6Hc0Hc0', options)
  end
  return has(its_key, key_text) and matches_attributes(attributes)
    and (body_text == '' or has(string.sub(raw, body_at), body_text))
end

local function visit(id)
  if #page - BEFORE_JOBS >= limit then return false end
  local size = redis.call('HSTRLEN', jobs, id)
  if size > 0 and has(id, id_text) then
    if budget <= 0 then return false end
    if error_text == '' or has(last_error(id), error_text) then
      if reads_record then budget = budget - size end
      if not reads_record or matches_record(id) then
        budget = budget - size
        page[#page + 1] = look(id, preview, state, sets[state])
      end
    end
  end
  if size > 0 then page[4] = page[4] + 1 end
  return true
end

page[3] = walk(state, sets[state], after, tonumber(most), visit)
return page
