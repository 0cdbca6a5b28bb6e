-- staged_records: records that are written ahead of their jobs (lua/stage.lua), and dropping those whose publish does not
-- come. The first write frees.
-- INCLUDES registry
local STAGED_MAX_MS = 60000
local STAGED_BATCH = 4 -- records of up to 1 MiB that one call frees

-- Those of `ids` that are still staged: a job that has begun is none of them.
local function unstage(ids)
  local stale = {}
  for i, score in ipairs(redis.call('ZMSCORE', staged, unpack(ids))) do
    if score then stale[#stale + 1] = ids[i] end
  end
  if #stale == 0 then return end
  redis.call('HDEL', jobs, unpack(stale))
  redis.call('HDEL', runs, unpack(stale))
  redis.call('HDEL', priorities, unpack(stale))
  for _, id in ipairs(redis.call('EXISTS', waits) == 1 and stale or {}) do
    redis.call('ZREMRANGEBYLEX', waits, '[' .. id .. '\t', '(' .. id .. '\n')
  end
  redis.call('ZREM', staged, unpack(stale))
  forget_if_empty()
end

-- Drops some records whose publish has not come in time. → when to drop others, or nil
local function unstage_stale()
  local old = redis.call('ZRANGEBYSCORE', staged, '-inf', now - STAGED_MAX_MS, 'LIMIT', 0, STAGED_BATCH)
  if #old > 0 then unstage(old) end
  local head = redis.call('ZRANGE', staged, 0, 0, 'WITHSCORES')
  return head[2] and head[2] + STAGED_MAX_MS
end
