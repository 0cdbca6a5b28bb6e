--{"name": "find_blocked", "purpose": "which of several jobs, each named by its id or its idempotency key, are blocked.", "keys": ["keys", "blocked"], "args": [], "rest": true, "replies": ["ok"]}
local reply = {
 'ok',
}
for i = 1, #ARGV, 2 do
 local id = ARGV[i]
 if id == '' then
  local value = redis.call('HGET', KEYS[1], ARGV[i + 1])
  id = value and string.sub(value, 7, 32) or ''
 end
 reply[#reply + 1] = redis.call('ZSCORE', KEYS[2], id) and 1 or 0
end
return reply
