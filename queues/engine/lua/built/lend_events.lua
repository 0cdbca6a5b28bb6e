--{"name": "lend_events", "purpose": "how many bytes a partition's events may take, other than its equal share, as the drain has divided the", "keys": ["counters"], "args": ["most"], "rest": false, "replies": ["ok"]}
redis.call('HDEL', KEYS[1], 'events_most')
if ARGV[1] ~= '' then
 redis.call('HSET', KEYS[1], 'events_most', ARGV[1])
end
return {
 'ok',
}
