--{"name": "has_job", "purpose": "whether a queue has a job, in whatever state. O(1).", "keys": ["jobs"], "args": ["id"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 redis.call('HEXISTS', KEYS[1], ARGV[1]),
}
