-- token_limit: a token's requests in its running interval, which begins with the first of them; all by Redis's clock.
-- The key's name holds allowance and interval, so a limit that is changed holds at once. Value: `left ticket`; the ticket is
-- the end of the interval in µs, so it tells one interval from the next, and a late refund from one in time.

-- → requests left, ticket, ms until the interval's end; nothing if none is running
local function running_interval()
  local left, its_ticket = string.match(redis.call('GET', limit) or '', '^(%-?%d+) (%d+)$')
  local left_ms = redis.call('PTTL', limit)
  if left and left_ms > 0 then return tonumber(left), its_ticket, left_ms end
end

-- The same for a script that knows the interval. One that ends later than an interval from now began before the clock was put
-- back: it is over, or a client would wait for as long as the clock went back.
local function current_interval()
  local left, its_ticket, left_ms = running_interval()
  if left and left_ms <= tonumber(interval) then return left, its_ticket, left_ms end
end

-- Always the whole key with the interval's end, which does not move. (Renewing a time that is left would prolong the interval
-- a little at each request; keeping it would, in its last millisecond, make a key that never expires.)
local function write_interval(left, its_ticket)
  redis.call('DEL', limit) -- a write that needs no memory: a full Redis lets what follows it through
  redis.call('SET', limit, left .. ' ' .. its_ticket, 'PXAT', math.floor(its_ticket / 1000))
end

-- Counts requests in the running interval, as `current_interval` told it, or in a new one. → the ticket
local function count_requests(number, left, its_ticket)
  if not left then
    local time = redis.call('TIME')
    left, its_ticket = allowance, string.format('%.0f', time[1] * 1000000 + time[2] + interval * 1000)
  end
  write_interval(left - number, its_ticket)
  return its_ticket
end
