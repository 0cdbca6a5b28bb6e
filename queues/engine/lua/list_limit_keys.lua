-- list_limit_keys: a page of the limit keys with ready jobs: those at a limit, the soonest first, then those whose turn is next.
-- KEYS
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   first        keys     that are passed over
--   number       keys     in the page
--   limits       of the queue and of its keys (lib/rates_and_weights.lua), "" = none
-- REPLIES
--   ok           now total throttled queue_free_at key ...    total: keys with ready jobs; throttled: those at a limit; when
--                the queue's rate lets the next job through, 0: now; key: {key ready working weight word free_at}. Word: turn,
--                concurrency, rate. free_at: ms, 0 if it is not known
-- INCLUDES key_waits
local resting = redis.call('ZCOUNT', turns, '-inf', '(' .. format_turn(-TURN_LIMITED))
local throttled = redis.call('ZCOUNT', turns, format_turn(-TURN_LIMITED), '(0')
local reply = {'ok', now, redis.call('ZCARD', turns) - resting, throttled, queue_free_at()}
local found = redis.call('ZRANGE', turns, resting + first, resting + first + number - 1)
local raw_shares = #found > 0 and redis.call('HMGET', shares, unpack(found))
for i, its_key in ipairs(found) do
  reply[#reply + 1] = describe_key(its_key, raw_shares[i])
end
return reply
