--{"name": "forget_dependants", "purpose": "those that have been told, or that wait no more. With a message given, it is dropped.", "keys": ["dependants", "outgoing"], "args": ["message"], "rest": true, "replies": ["ok"]}
local count = 0
if #ARGV >= 2 then
 count = redis.call('ZREM', KEYS[1], unpack(ARGV, 2))
end
if ARGV[1] ~= '' then
 redis.call('ZREM', KEYS[2], ARGV[1])
end
return {
 'ok',
 count,
}
