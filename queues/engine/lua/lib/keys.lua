-- keys: drops expired idempotency keys, some at a time. Only memory depends on when: add.lua checks a key's own expiry.
-- `k:QUEUE` in `flags`: when to look next, HSCAN's cursor, earliest expiry that was found so far.
-- INCLUDES expiry_horizon
local KEYS_FEW = 500
local KEY_BYTES = 32 -- of a value; one that is longer is held as long as its job is in certain states (lib/unique.lua)

-- A key is held until `expires`. A look that is under way may have passed its place, so it is told.
local function expect_key_end(expires)
  local field, look_at = 'k:' .. queue, math.min(expires, now + SWEEP_EVERY_MS)
  if redis.call('HSETNX', flags, field, string.format('%.0f 0 0', look_at)) == 1 then return schedule_sweep(look_at) end
  local at, cursor, earliest = string.match(redis.call('HGET', flags, field), '^(%d+) (%d+) (%d+)$')
  if cursor ~= '0' and (earliest == '0' or tonumber(earliest) > expires) then
    redis.call('HSET', flags, field, string.format('%s %s %.0f', at, cursor, expires))
  end
end

-- → number of keys that were dropped, when to look again (nil: never)
local function sweep_keys()
  local state = redis.call('HGET', flags, 'k:' .. queue)
  if not state then return 0, nil end
  local look_at, cursor, earliest = string.match(state, '^(%d+) (%d+) (%d+)$')
  look_at, earliest = tonumber(look_at), tonumber(earliest)
  if look_at > now then return 0, look_at end
  local found = redis.call('HSCAN', keys, cursor, 'COUNT', KEYS_FEW)
  local dropped = 0
  for i = 1, #found[2], 2 do
    local value = found[2][i + 1]
    local expires = struct.unpack('>I6', value)
    local is_by_job = #value > KEY_BYTES
    if expires > 0 and expires <= now or is_by_job and redis.call('HEXISTS', jobs, string.sub(value, 7, KEY_BYTES)) == 0 then
      redis.call('HDEL', keys, found[2][i])
      dropped = dropped + 1
    elseif is_by_job then
      earliest = math.min(earliest > 0 and earliest or math.huge, now + SWEEP_EVERY_MS)
    elseif expires > 0 then
      earliest = earliest > 0 and math.min(earliest, expires) or expires
    end
  end
  redis.call('HDEL', flags, 'k:' .. queue)
  if found[1] ~= '0' then
    redis.call('HSET', flags, 'k:' .. queue, string.format('%.0f %s %.0f', now, found[1], earliest))
    return dropped, now
  elseif earliest == 0 then
    return dropped, nil
  end
  look_at = redis.call('HLEN', keys) <= KEYS_FEW and earliest or math.max(earliest, now + SWEEP_EVERY_MS)
  redis.call('HSET', flags, 'k:' .. queue, string.format('%.0f 0 0', look_at))
  return dropped, look_at
end
