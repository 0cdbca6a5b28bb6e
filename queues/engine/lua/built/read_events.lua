--{"name": "read_events", "purpose": "a page of a partition's stream, oldest first.", "keys": ["events"], "args": ["from", "to", "limit"], "rest": false, "replies": ["ok"]}
local reply = {
 'ok',
}
for i, entry in ipairs(redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])) do
 local fields = entry[2]
 local place = 4 * i
 reply[place - 2], reply[place - 1], reply[place], reply[place + 1] = entry[1], fields[2], fields[4], fields[8]
end
return reply
