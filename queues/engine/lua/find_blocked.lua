-- find_blocked: which of several jobs, each named by its id or its idempotency key, are blocked.
-- KEYS
--   keys         hash     idempotency keys
--   blocked      zset     blocked jobs
-- ARGV
--   ...          of each job: id or ""; key or ""
-- REPLIES
--   ok           is_blocked ...   1 or 0, in the same order
local reply = {'ok'}
for i = REST, #ARGV, 2 do
  local id = ARGV[i]
  if id == '' then
    local value = redis.call('HGET', keys, ARGV[i + 1])
    id = value and string.sub(value, 7, 32) or ''
  end
  reply[#reply + 1] = redis.call('ZSCORE', blocked, id) and 1 or 0
end
return reply
