-- list_jobs: a page of the jobs in one state, in their order: next to be delivered, due, or ended first; or the other way.
-- One page looks at 10,000 entries at the most, whatever the number of tombstones; it may then be short, even empty,
-- though more follow.
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
--   blocked      zset     whether it is there
--   grouped      zset     whether it is there
--   lines        zset     ready jobs with limit keys
-- ARGV
--   now_ms       ms or ""
--   state        one of the eight
--   after        "" or the cursor (lua/lib/jobs_in_order.lua)
--   limit        jobs
--   preview      bytes of each body
--   budget       bytes of records that one page may read, about 4 KiB more counted for each
--   latest       "1": from the end
-- REPLIES
--   page         now cursor-or-"" job ...    jobs as in detail
-- INCLUDES ready job_details jobs_in_order
limit, preview, budget = tonumber(limit), tonumber(preview), tonumber(budget)
local sets = {delayed = delayed, retry = retry, working = working, dead = dead, completed = completed, blocked = blocked,
  grouped = grouped}
local page = {'page', now, ''}

local LOOK_COST = 4096 -- what it takes to look at a job, in bytes of its record
local looked = false

local function add(id)
  local size = redis.call('HSTRLEN', jobs, id)
  if size == 0 then return true end
  if #page - 3 >= limit or (budget < size and looked) then return false end
  looked = true
  budget = budget - size - LOOK_COST
  page[#page + 1] = look(id, preview, state, sets[state])
  return true
end

page[3] = walk(state, sets[state], after, VISITS_MAX, add, latest == '1')
return page
