-- give_back_limit: undoes one take_limit, for a request that got no job or failed.
-- KEYS
--   limit        string   requests left over
-- ARGV
-- REPLIES
--   ok
local left, left_ms = redis.call('GET', limit), redis.call('PTTL', limit)
if left and left_ms > 0 then
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, tonumber(left) + 1, 'PX', left_ms)
end
return {'ok'}
