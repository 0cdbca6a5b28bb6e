--{"name": "write_survey", "purpose": "records what a survey found. What is there already is not written again, so a quiet pool costs Redis's", "keys": ["survey"], "args": ["head"], "rest": true, "replies": ["ok"]}
if ARGV[1] ~= '' then
 redis.call('HDEL', KEYS[1], '')
 redis.call('HSET', KEYS[1], '', ARGV[1])
end
for at = 2, #ARGV, 2 do
 local namespace, content = ARGV[at], ARGV[at + 1]
 if content == '' then
  redis.call('HDEL', KEYS[1], namespace)
 elseif redis.call('HGET', KEYS[1], namespace) ~= content then
  redis.call('HDEL', KEYS[1], namespace)
  redis.call('HSET', KEYS[1], namespace, content)
 end
end
return {
 'ok',
 redis.call('HLEN', KEYS[1]),
}
