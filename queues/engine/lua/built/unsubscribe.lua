--{"name": "unsubscribe", "purpose": "unsubscribes jobs elsewhere that do not depend on jobs of this queue any more. The first write frees.", "keys": ["keys", "dependants"], "args": [], "rest": true, "replies": ["ok"]}
for i = 1, #ARGV, 5 do
 local id, its_key = ARGV[i], ARGV[i + 1]
 local rest = '\t' .. ARGV[i + 2] .. '\t' .. ARGV[i + 3] .. '\t' .. ARGV[i + 4] .. '\t' .. its_key
 if its_key ~= '' then
  redis.call('ZREM', KEYS[2], ':' .. its_key .. rest)
  local value = redis.call('HGET', KEYS[1], its_key)
  id = value and string.sub(value, 7, 32) or ''
 end
 if id ~= '' then
  redis.call('ZREM', KEYS[2], id .. rest)
 end
end
return {
 'ok',
}
