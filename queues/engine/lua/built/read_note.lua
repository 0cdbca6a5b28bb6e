--{"name": "read_note", "purpose": "a worker's notes on a job (lua/annotate.lua).", "keys": ["note"], "args": [], "rest": false, "replies": ["ok"]}
local reply = {
 'ok',
}
for _, one in ipairs(redis.call('HGETALL', KEYS[1])) do
 reply[#reply + 1] = one
end
return reply
