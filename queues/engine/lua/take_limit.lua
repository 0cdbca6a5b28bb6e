-- take_limit: counts one request against a token's allowance for the running interval.
-- The interval begins with its first request; the key expires with it, so this runs on Redis's clock alone. The key's name
-- holds allowance and interval, so a limit that is changed holds at once. Value: `left ticket`; the ticket names the
-- interval.
-- KEYS
--   limit        string   requests left over, and the interval's ticket
-- ARGV
--   allowance    requests per interval
--   interval     ms
-- REPLIES
--   taken        ticket
--   refused      retry_after_ms

-- Every call writes the key anew with the time that it has left. (Renewing only its time would drop it in its last
-- millisecond, and a DECR then make one that never expires: the token would be refused for ever.)
local function write(left, ticket, left_ms)
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, left .. ' ' .. ticket, 'PX', left_ms)
  return {'taken', ticket}
end

local left, ticket = string.match(redis.call('GET', limit) or '', '^(%-?%d+) (%d+)$')
local left_ms = redis.call('PTTL', limit)
if not left or left_ms <= 0 then
  local time = redis.call('TIME')
  return write(tonumber(allowance) - 1, string.format('%.0f', time[1] * 1000000 + time[2]), interval)
end
if tonumber(left) <= 0 then return {'refused', left_ms} end
return write(tonumber(left) - 1, ticket, left_ms)
