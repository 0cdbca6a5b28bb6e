-- unique: keys that are held as long as a job is in certain states. Nothing has to give such a key back when the job ends:
-- a publish with the key looks at the job. So no key outlives its job; lib/keys.lua drops what is left of it.
-- The value of such a key, in `keys`: u48 expires ms (0: by the job alone) · 26 characters job id · mode · u48 ms: when the
-- first job of those that replaced each other was published.
-- INCLUDES record run has_expired keys

-- Whether the job, which exists, was ever delivered.
local function has_begun(id)
  local raw = redis.call('HGET', runs, id)
  return raw and run_attempt(raw) > 0
end

-- The job that holds a key, by the key's value; nil if it does not any more.
local function is_held(value)
  local expires, id = struct.unpack('>I6c26', value)
  if expires > 0 and expires <= now then return nil end
  local its_mode = string.sub(value, 33, 33)
  if its_mode == '' then return id end
  if redis.call('ZSCORE', working, id) then return its_mode == 'd' and id or nil end
  if redis.call('ZSCORE', dead, id) or redis.call('ZSCORE', completed, id) then return nil end
  local its_expiry = expiry_of(id, redis.call('HGET', runs, id))
  if not its_expiry or has_expired(its_expiry) then return nil end
  return (its_mode == 'd' or not has_begun(id)) and id or nil
end

local function hold_while(its_mode, id, first)
  local for_ms = tonumber(key_ttl)
  local expires = for_ms > 0 and now + for_ms or 0
  redis.call('HSET', keys, key, struct.pack('>I6c26', expires, id) .. its_mode .. struct.pack('>I6', first))
  expect_key_end(now + SWEEP_EVERY_MS)
end
