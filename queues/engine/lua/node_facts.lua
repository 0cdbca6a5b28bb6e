-- node_facts: states and outcomes of many jobs at once, without bodies and results.
-- KEYS
--   jobs         hash     which there are
--   runs         hash     attempts
--   delayed      zset     whether it is there
--   retry        zset     whether it is there
--   working      zset     whether it is there
--   dead         zset     whether it is there
--   completed    zset     whether it is there
--   blocked      zset     whether it is there
-- ARGV
--   now_ms       ms or ""
--   ...          job ids
-- REPLIES
--   ok           now {state attempts began ended error} ...   state: gone if there is none; times in ms, 0 if there are none
-- INCLUDES record run
local ids, reply = {unpack(ARGV, REST)}, {'ok', now}
local raw_runs = redis.call('HMGET', runs, unpack(ids))
local scores = {}
for name, set in pairs({working = working, dead = dead, completed = completed, blocked = blocked, delayed = delayed,
  retry = retry}) do
  if redis.call('EXISTS', set) == 1 then scores[name] = redis.call('ZMSCORE', set, unpack(ids)) end
end

local function newest_error(history)
  local at, error = 1, ''
  while at <= #history do
    local _, _, _, _, _, its_error, after = struct.unpack(PAST, history, at)
    at, error = after, its_error
  end
  return string.sub(error, 1, 200)
end

for i, id in ipairs(ids) do
  local state, score = 'ready', nil
  for name, its in pairs(scores) do
    if its[i] then state, score = name, tonumber(its[i]) end
  end
  if raw_runs[i] then
    local run = unpack_run(raw_runs[i])
    local ended = 0
    if state == 'dead' then ended = score end
    if state == 'completed' then ended = score - unpack_options(run.options) end
    reply[#reply + 1] = {state, run.attempt, run.taken, ended, newest_error(run.history)}
  else
    reply[#reply + 1] = {redis.call('HEXISTS', jobs, id) == 1 and state or 'gone', 0, 0, 0, ''}
  end
end
return reply
