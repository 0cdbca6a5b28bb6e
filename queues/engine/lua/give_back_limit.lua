-- give_back_limit: undoes one take_limit, for a request that got no job or failed.
-- KEYS
--   limit        string   requests left over
-- ARGV
-- REPLIES
--   ok
local left_ms = redis.call('PTTL', limit)
if left_ms > 0 then
  redis.call('PEXPIRE', limit, left_ms) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('INCR', limit)
end
return {'ok'}
