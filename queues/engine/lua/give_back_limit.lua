-- give_back_limit: undoes one take_limit, for a request that got no job or failed; only within the same interval.
-- KEYS
--   limit        string   requests left over, and the interval's ticket
-- ARGV
--   ticket       of the take
-- REPLIES
--   ok
local left, its_ticket = string.match(redis.call('GET', limit) or '', '^(%-?%d+) (%d+)$')
local left_ms = redis.call('PTTL', limit)
if left and its_ticket == ticket and left_ms > 0 then
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, tonumber(left) + 1 .. ' ' .. ticket, 'PX', left_ms)
end
return {'ok'}
