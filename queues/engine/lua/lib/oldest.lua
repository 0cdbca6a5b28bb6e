-- oldest: how long ready jobs have been due. Bounded: at most 100 tombstones at the head are looked past.
-- INCLUDES ids record run ready
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

-- The least due time among the first `look_at` of `ids` that live. A job that was released to the head may hide an older
-- one behind it, so a few are looked at; huge records count only when nothing else is there.
local function oldest_of(ids, look_at)
  local oldest, alive = nil, 0
  for _, id in ipairs(ids) do
    if alive == 0 or redis.call('HSTRLEN', jobs, id) < HUGE then
      local due_ms = due_of(id)
      if due_ms then
        oldest = math.min(oldest or due_ms, due_ms)
        alive = alive + 1
        if alive == look_at then break end
      end
    end
  end
  return oldest
end

-- Due time in ms of the ready job that has been due longest, or nil. `look_at`: so many of each priority.
local function oldest_ready(look_at)
  local oldest = oldest_of(redis.call('LRANGE', ready, 0, look_at - 1), look_at)
  if not oldest then oldest = oldest_of(redis.call('LRANGE', ready, look_at, 99), look_at) end
  local band = 0
  repeat -- the first jobs of each priority, of which there are at most 200
    local ids = redis.call('ZRANGEBYSCORE', prio, string.format('%.0f', band * RANK_STEP), '+inf', 'LIMIT', 0, look_at)
    local its_oldest = oldest_of(ids, look_at)
    if its_oldest then oldest = math.min(oldest or its_oldest, its_oldest) end
    band = ids[1] and math.floor(tonumber(redis.call('ZSCORE', prio, ids[1])) / RANK_STEP) + 1
  until not band
  return oldest
end
