--{"name": "held_queues", "purpose": "names of this partition's queues that hold a job with an end (of a lease or a retention), the earliest first.", "keys": ["ends"], "args": ["limit"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 unpack(redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)),
}
