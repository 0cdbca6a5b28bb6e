-- list_working: the working jobs of a queue and their consumers: those whose leases end first. Bodies are not read.
-- KEYS
--   working      zset     working jobs
--   runs         hash     attempts
-- ARGV
--   now_ms       ms or ""
--   limit        jobs
-- REPLIES
--   ok           now total [id lease_end run]...
local reply = {'ok', now, redis.call('ZCARD', working)}
local found = redis.call('ZRANGE', working, 0, limit - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  reply[#reply + 1] = found[i]
  reply[#reply + 1] = tonumber(found[i + 1])
  reply[#reply + 1] = redis.call('HGET', runs, found[i]) or ''
end
return reply
