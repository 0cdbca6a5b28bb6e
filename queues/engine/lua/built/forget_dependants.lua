--{"name": "forget_dependants", "purpose": "drops dependants that have been told, or that wait no more; and the message, if one is given.", "keys": ["dependants", "outgoing"], "args": ["message"], "rest": true, "replies": ["ok"]}
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
