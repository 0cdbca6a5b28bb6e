-- compact: takes tombstones out of the ready list although a job that lives is before them. Entries go from the head of
-- `ready` to the tail of `front`, those that live; when `ready` has none left, `front` takes its name. The line is always
-- `front`, then `ready`, so order and counts are right after each step, and consumers take from it meanwhile.
-- INCLUDES ready

local function count_tombstones_left() return tonumber(redis.call('HGET', flags, 't:' .. queue) or 0) end

-- Whether there is something to take out: more tombstones than jobs, and not few; or it has begun.
local function should_compact()
  if redis.call('EXISTS', front) == 1 then return true end
  local tombstones = count_tombstones_left()
  return tombstones > TOMBSTONES_MAX and 2 * tombstones > redis.call('LLEN', ready)
end

-- Looks at `most` entries.
local function compact(most)
  local ids = redis.call('LPOP', ready, most) or {}
  local alive = {}
  for _, id in ipairs(ids) do
    if redis.call('HEXISTS', jobs, id) == 1 then alive[#alive + 1] = id end
  end
  if #alive > 0 then redis.call('RPUSH', front, unpack(alive)) end
  if #alive < #ids then count_tombstones(#alive - #ids) end
  if redis.call('EXISTS', ready) == 0 and redis.call('EXISTS', front) == 1 then redis.call('RENAME', front, ready) end
end
