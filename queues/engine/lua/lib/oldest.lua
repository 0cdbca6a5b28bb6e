-- oldest: how long ready jobs have been due. Bounded: 100 entries of the list are looked at, and a few of each priority.
-- No long record is read: such jobs have a run (lib/record.lua).
-- Of jobs with limit keys the first of some keys are looked at.
-- INCLUDES ids record run has_expired ready fair
local LIST_LOOKS = 100
local BAND_LOOKS = 2
local KEY_LOOKS = 16

-- When the job became due, or nil if it is gone or has expired.
local function due_of(id, raw_run, raw)
  if raw_run then
    local expires, due_ms = struct.unpack('>I6I6', raw_run, RUN_EXPIRES)
    return not has_expired(expires) and due_ms or nil
  end
  if not raw then return nil end
  local _, expires, due_at = unpack_record(raw)
  return not has_expired(expires) and (due_at or id_time(id)) or nil
end

-- The least due time among `ids`, or nil. A job that was released to the head may hide an older one behind it, so a few
-- are looked at.
local function oldest_of(ids)
  if #ids == 0 then return nil end
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  local oldest
  for i, id in ipairs(ids) do
    local due_ms = due_of(id, raw_runs[i], not raw_runs[i] and redis.call('HGET', jobs, id))
    if due_ms then oldest = math.min(oldest or due_ms, due_ms) end
  end
  return oldest
end

-- Due time in ms of the ready job that has been due longest, or nil. `look_at`: so many of the list.
local function oldest_ready(look_at)
  local oldest = oldest_of(range_ready(0, look_at - 1)) or oldest_of(range_ready(look_at, LIST_LOOKS - 1))
  local ids, from, band, in_band = {}, '-inf', -1, 0
  repeat -- of each priority, of which there are at most 200, the first jobs
    local found = redis.call('ZRANGEBYSCORE', prio, from, '+inf', 'WITHSCORES', 'LIMIT', 0, BAND_LOOKS)
    for i = 1, #found, 2 do
      local its_band = math.floor(tonumber(found[i + 1]) / RANK_STEP)
      if its_band ~= band then band, in_band = its_band, 0 end
      in_band = in_band + 1
      ids[#ids + 1] = found[i]
      from = in_band < BAND_LOOKS and '(' .. found[i + 1] or format_rank((band + 1) * RANK_STEP)
      if in_band == BAND_LOOKS then break end
    end
  until #found == 0
  if redis.call('EXISTS', lines) == 1 then
    for _, its_key in ipairs(redis.call('ZRANGEBYSCORE', turns, format_turn(-TURN_LIMITED), '+inf', 'LIMIT', 0, KEY_LOOKS)) do
      for _, member in ipairs(range_line(its_key, 0, 1)) do ids[#ids + 1] = string.sub(member, -ID_BYTES) end
    end
  end
  local its_oldest = oldest_of(ids)
  return oldest and its_oldest and math.min(oldest, its_oldest) or oldest or its_oldest
end
