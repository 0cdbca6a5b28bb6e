-- scan_jobs: the jobs of one state that match a filter, found by looking at so many of them one after another.
-- Texts match anywhere and whatever the case of ASCII letters; an empty one lets everything through, and all must match.
-- Lua takes 5 to 12 ms to make 1 MiB lower case, so a long body comes whole, and the caller searches it.
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
--   blocked      zset     whether it is there
--   grouped      zset     whether it is there
--   lines        zset     ready jobs with limit keys
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   state        one of the eight
--   after        "" or the cursor (lua/lib/jobs_in_order.lua)
--   limit        jobs      that match
--   most         jobs      that are looked at
--   preview      bytes of each body
--   budget       what the call may cost, as bytes that are read: no more jobs are looked at once it is spent
--   id_text      text in the id
--   key_text     text in the idempotency key
--   name         name of an attribute, "" = any of them
--   value        text in that attribute's value, or without a name in any attribute's name or value
--   error_text   text in the error of the last attempt that failed
--   body_text    text in the body
--   match_max    bytes of a body that is searched here
--   latest       "1": from the end of the state's order
-- REPLIES
--   page         now cursor-or-"" looked_at size job ...    size: jobs in that state
--                job: as in detail, then 1 if it matches, 0 if the caller has to search its body, which is whole; cursor and
--                looked_at for a page that ends before it
-- INCLUDES record run ready job_details jobs_in_order
limit, preview, budget, match_max = tonumber(limit), tonumber(preview), tonumber(budget), tonumber(match_max)
id_text, key_text, value = string.lower(id_text), string.lower(key_text), string.lower(value)
error_text, body_text = string.lower(error_text), string.lower(body_text)
local sets = {delayed = delayed, retry = retry, working = working, dead = dead, completed = completed, blocked = blocked,
  grouped = grouped}
local reads_record = key_text .. name .. value .. body_text ~= ''
local page = {'page', now, '', 0, state == 'ready' and ready_size() or redis.call('ZCARD', sets[state])}
local matched = 0
local LOOK_COST = 1024 -- of any job
local SEARCH_COST, LOWER_COST = 128, 4 -- of any text, and of each of its bytes
local LONG_PART = 64 -- as many bytes of a part cost as much again at worst: each place of the text is compared with all of it

-- Whether `part`, in lower case, is in the text.
local function has(text, part)
  if part == '' then return true end
  budget = budget - SEARCH_COST - #text * (LOWER_COST + #part / LONG_PART)
  return string.find(string.lower(text), part, 1, true) ~= nil
end

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
  budget = budget - LOWER_COST * #json
  for its_name, its_value in pairs(json ~= '' and cjson.decode(json) or {}) do
    if name == '' and (has(its_name, value) or has(its_value, value)) then return true end
    if its_name == name and has(its_value, value) then return true end
  end
  return false
end

-- → whether the record matches; if all but its body does, which is long, 'unknown'
local function matches_record(raw)
  local _, _, _, options, body_at = unpack_record(raw)
  local its_key, attributes = '', ''
  if options ~= '' then
    _, _, _, _, its_key, attributes = struct.unpack('>I6BI6I6Hc0Hc0', options)
    if string.byte(its_key) == 0 then its_key = '' end -- a key of the service itself, which nobody is shown
  end
  if not (has(its_key, key_text) and matches_attributes(attributes)) then return false end
  if body_text ~= '' and #raw - body_at >= match_max then return 'unknown' end
  return body_text == '' or has(string.sub(raw, body_at), body_text)
end

local function visit(id)
  if matched >= limit then return false end
  local size = redis.call('HSTRLEN', jobs, id)
  if size == 0 then return true end
  if budget <= 0 then return false end
  budget = budget - LOOK_COST
  local before, looked_before = walk_place, page[4]
  page[4] = page[4] + 1
  if not has(id, id_text) then return true end
  if error_text ~= '' and not has(last_error(id), error_text) then return true end
  budget = budget - size
  local raw = redis.call('HGET', jobs, id)
  local found = not reads_record or matches_record(raw)
  if not found then return true end
  local known = found ~= 'unknown'
  local job = look(id, known and preview, state, sets[state], raw)
  if not job then return true end
  if known then matched = matched + 1 end
  job[#job + 1], job[#job + 2], job[#job + 3] = known and 1 or 0, before, looked_before
  page[#page + 1] = job
  return true
end

page[3] = walk(state, sets[state], after, tonumber(most), visit, latest == '1')
return page
