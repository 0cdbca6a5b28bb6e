--{"name": "read_outgoing", "purpose": "messages to other partitions that are still to be carried, the earliest first.", "keys": ["outgoing"], "args": ["limit"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 unpack(redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)),
}
