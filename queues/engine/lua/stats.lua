-- stats: counts per state, the oldest ready job, and the last minutes of one queue. Bounded: counts are O(1), the minutes
-- are few, and at most 100 tombstones at the head are looked past.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     ready jobs
--   prio         zset     ready jobs of other priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   dead         zset     dead jobs
--   completed    zset     completed jobs
--   flags        hash     paused, tombstones, dropped
--   stats        hash     minutes
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
-- REPLIES
--   ok           now paused ready delayed retry working dead completed oldest_due dropped_by_age dropped_by_count minutes
-- INCLUDES ids record run ready

local LOOK_AT = 16
local HUGE = 65536

-- When the job became due, or nil if it is gone or expired.
local function due_of(id)
  local raw_run = redis.call('HGET', runs, id)
  if raw_run then
    local run = unpack_run(raw_run)
    return (run.expires == 0 or run.expires > now) and run.due or nil
  end
  local raw = redis.call('HGET', jobs, id)
  if not raw then return nil end
  local _, expires, due_at = unpack_record(raw)
  return (expires == 0 or expires > now) and (due_at or id_time(id)) or nil
end

-- The least due time among the first of `ids` that live. A job that was released to the head may hide an older one
-- behind it, so a few are looked at; huge records count only when nothing else is there.
local function oldest_of(ids)
  local oldest, alive = nil, 0
  for _, id in ipairs(ids) do
    if alive == 0 or redis.call('HSTRLEN', jobs, id) < HUGE then
      local due_ms = due_of(id)
      if due_ms then
        oldest = math.min(oldest or due_ms, due_ms)
        alive = alive + 1
        if alive == LOOK_AT then break end
      end
    end
  end
  return oldest
end

local oldest = oldest_of(redis.call('LRANGE', ready, 0, 99))
local band = 0
repeat -- the first jobs of each priority, of which there are at most 200
  local ids = redis.call('ZRANGEBYSCORE', prio, string.format('%.0f', band * RANK_STEP), '+inf', 'LIMIT', 0, LOOK_AT)
  local its_oldest = oldest_of(ids)
  if its_oldest then oldest = math.min(oldest or its_oldest, its_oldest) end
  band = ids[1] and math.floor(tonumber(redis.call('ZSCORE', prio, ids[1])) / RANK_STEP) + 1
until not band
local marks = redis.call('HMGET', flags, 'p:' .. queue, 'a:' .. queue, 'c:' .. queue)
return {'ok', now, marks[1] and 1 or 0, ready_size(), redis.call('ZCARD', delayed),
  redis.call('ZCARD', retry), redis.call('ZCARD', working), redis.call('ZCARD', dead), redis.call('ZCARD', completed),
  oldest or -1, tonumber(marks[2] or 0), tonumber(marks[3] or 0), redis.call('HGETALL', stats)}
