-- list_limit_keys: a page of the limit keys with ready jobs: those at a limit, the soonest first, then those whose turn is next.
-- KEYS
--   lines        zset     ready jobs with limit keys
--   turns        zset     whose turn it is
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   first        keys     that are passed over
--   number       keys     in the page
--   limits       of the queue and of its keys (lib/queue_limits.lua), "" = none
-- REPLIES
--   ok           now total throttled queue_free_at key ...    total: keys with ready jobs; throttled: those at a limit; when
--                the queue's rate lets the next job through, 0: now; key: {key ready working weight word free_at}. Word: turn,
--                concurrency, rate. free_at: ms, 0 if it is not known
-- INCLUDES fair queue_limits
local queue_step, queue_burst, at_once, step, burst, weight = read_limits()
local resting = redis.call('ZCOUNT', turns, '-inf', '(' .. format_turn(-TURN_LIMITED))
local throttled = redis.call('ZCOUNT', turns, format_turn(-TURN_LIMITED), '(0')
local reply = {'ok', now, redis.call('ZCARD', turns) - resting, throttled, 0}
if queue_step > 0 then
  local _, _, tat = unpack_clock(redis.call('HGET', shares, ''))
  local free, its_tat = conform(tat, queue_step, queue_burst)
  if free <= 0 then reply[5] = conforms_at(its_tat, queue_step, queue_burst) end
end
local found = redis.call('ZRANGE', turns, resting + first, resting + first + number - 1)
local raw_shares = #found > 0 and redis.call('HMGET', shares, unpack(found))
for i, its_key in ipairs(found) do
  local in_work, _, tat = unpack_share(raw_shares[i])
  local word, free_at = 'turn', 0
  if at_once > 0 and in_work >= at_once then
    word = 'concurrency'
  elseif step > 0 then
    local free, its_tat = conform(tat, step, burst)
    if free <= 0 then word, free_at = 'rate', conforms_at(its_tat, step, burst) end
  end
  local from, to = line_bounds(its_key .. string.char(0))
  reply[#reply + 1] = {its_key, redis.call('ZLEXCOUNT', lines, from, to), in_work, weight_of(its_key, weight), word, free_at}
end
return reply
