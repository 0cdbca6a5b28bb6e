--{"name": "list_queues", "purpose": "names of the queues of this partition in a range of names, in order.", "keys": ["queues"], "args": ["min", "max", "limit"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 unpack(redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])),
}
