--{"name": "find_batch", "purpose": "the batch that a job is a member of, or the members of a batch.", "keys": ["batches"], "args": [], "rest": true, "replies": ["ok"]}
local reply = {
 'ok',
}
for i = 1, #ARGV do
 reply[#reply + 1] = redis.call('HGET', KEYS[1], ARGV[i]) or ''
end
return reply
