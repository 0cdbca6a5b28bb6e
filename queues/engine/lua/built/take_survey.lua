--{"name": "take_survey", "purpose": "makes a pump the one that surveys this pool for a while, unless another is. Several would do no harm but", "keys": ["turn"], "args": ["pump", "hold"], "rest": false, "replies": ["ok", "taken"]}
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2]) then
 return {
  'taken',
 }
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {
 'ok',
}
