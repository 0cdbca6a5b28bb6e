-- take_limit: counts one request against a token's allowance for the running interval.
-- The interval begins with the first request; the key expires with it, so this runs on Redis's clock alone.
-- KEYS
--   limit        string   requests left over
-- ARGV
--   allowance    requests per interval
--   interval     ms
-- REPLIES
--   taken        left
--   refused      retry_after_ms

-- Every call writes the key anew with the time that it has left. (Renewing only its time would drop it in its last
-- millisecond, and a DECR then make one that never expires: the token would be refused for ever.)
local function write(left, left_ms)
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, left, 'PX', left_ms)
  return {'taken', left}
end

local left = redis.call('GET', limit)
local left_ms = redis.call('PTTL', limit)
if not left or left_ms <= 0 then return write(tonumber(allowance) - 1, interval) end
if tonumber(left) <= 0 then return {'refused', left_ms} end
return write(tonumber(left) - 1, left_ms)
