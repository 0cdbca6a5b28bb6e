--{"name": "forget_workflow", "purpose": "drops the record of a workflow, some at a time. From the first call on there is no such workflow.", "keys": ["workflow", "pending", "unpublished", "workflows", "index"], "args": ["name", "limit"], "rest": false, "replies": ["ok"]}
local created = redis.call('HGET', KEYS[1], 'created')
if created then
 redis.call('HDEL', KEYS[1], 'created')
 redis.call('ZREM', KEYS[5], string.format('%013.0f', created) .. string.match(ARGV[1], '/.*$'))
 redis.call('DEL', KEYS[3])
end
local found = redis.call('HSCAN', KEYS[1], '0', 'COUNT', ARGV[2])[2]
local fields = {
}
for i = 1, #found, 2 do
 fields[#fields + 1] = found[i]
end
for i_2 = 1, #fields, 1000 do
 redis.call('HDEL', KEYS[1], unpack(fields, i_2, math.min(i_2 + 999, #fields)))
end
local left = redis.call('HLEN', KEYS[1])
if left == 0 and redis.call('EXISTS', KEYS[2]) == 0 then
 redis.call('ZREM', KEYS[4], ARGV[1])
end
return {
 'ok',
 left,
}
