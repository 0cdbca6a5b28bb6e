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

-- In its last millisecond the key is still there, with no time left. Renewing that would drop it, and DECR would then make
-- one that never expires: the token would be refused for ever. So the next interval begins.
local left = redis.call('GET', limit)
local left_ms = redis.call('PTTL', limit)
if not left or left_ms <= 0 then
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, tonumber(allowance) - 1, 'PX', interval)
  return {'taken', tonumber(allowance) - 1}
end
if tonumber(left) <= 0 then return {'refused', left_ms} end
redis.call('PEXPIRE', limit, left_ms) -- the same
return {'taken', redis.call('DECR', limit)}
