-- delete: removes jobs in any state (edge M). The first write frees.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     results
--   ready        list     its tombstones
--   front        list     goes before `ready`
--   prio         zset     where it may be
--   priorities   hash     of the job
--   delayed      zset     where it may be
--   retry        zset     where it may be
--   expiring     zset     which waiting jobs expire soon
--   working      zset     where it may be
--   dead         zset     where it may be
--   completed    zset     where it may be
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   events       stream   transitions
--   counters     hash     dropped events
--   blocked      zset     where it may be
--   grouped      zset     where it may be
--   outgoing     zset     gets messages to the jobs that depend on it
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   only         "" or the state a job must be in to be deleted
--   budget       bytes     of records and results: the first of the ids, at least one
--   ...          job ids
-- REPLIES
--   ok           count seen   jobs deleted; ids that it came to
-- INCLUDES registry events remove bulk
local sets = {working = working, delayed = delayed, retry = retry, dead = dead, completed = completed,
  blocked = blocked, grouped = grouped}

-- Ready is a job that is in none of the sets.
local function is_in_state(id)
  if only == '' then return true end
  if only ~= 'ready' then return redis.call('ZSCORE', sets[only], id) end
  for _, set in pairs(sets) do
    if redis.call('ZSCORE', set, id) then return false end
  end
  return true
end

local ids = first_within({unpack(ARGV, REST)}, tonumber(budget), jobs, results)
local count = 0
for _, id in ipairs(ids) do
  local ended = is_in_state(id) and remove_job(id)
  if ended then
    count = count + 1
    emit('deleted', id, '', '', '', ended)
  end
end
if count > 0 then forget_if_empty() end
flush_events()
return {'ok', count, #ids}
