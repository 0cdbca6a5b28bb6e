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
local left = redis.call('GET', limit)
if not left then
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, tonumber(allowance) - 1, 'PX', interval)
  return {'taken', tonumber(allowance) - 1}
end
if tonumber(left) <= 0 then return {'refused', redis.call('PTTL', limit)} end
redis.call('PEXPIRE', limit, redis.call('PTTL', limit)) -- the same
return {'taken', redis.call('DECR', limit)}
