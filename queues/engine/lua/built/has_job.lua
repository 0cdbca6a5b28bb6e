--{"name": "has_job", "purpose": "whether a queue has a job, in whatever state, or has it as part of a batch. O(1).", "keys": ["jobs", "batches"], "args": ["id"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 math.max(redis.call('HEXISTS', KEYS[1], ARGV[1]), redis.call('HEXISTS', KEYS[2], ARGV[1])),
}
