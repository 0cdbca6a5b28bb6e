-- settle_once: shortens how long publish_once remembers ids, since their publisher will not repeat them.
-- KEYS
--   keys         hash     idempotency keys
--   flags        hash     when to look through the keys
--   sweeps       zset     when the sweeper has work
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   keep         ms        until they are forgotten
--   ...          ids
-- REPLIES
--   ok           number of ids that are known
-- INCLUDES keys
local until_ms, marks = now + tonumber(keep), {}
for i = REST, #ARGV do
  local held = redis.call('HGET', keys, ARGV[i])
  if held then
    marks[#marks + 1] = ARGV[i]
    marks[#marks + 1] = struct.pack('>I6', until_ms) .. string.sub(held, 7)
  end
end
if #marks > 0 then
  redis.call('HSET', keys, unpack(marks))
  expect_key_end(until_ms)
end
return {'ok', #marks / 2}
