--{"name": "list_workflows", "purpose": "a page of the workflows of a namespace in one partition, the newest first.", "keys": ["index"], "args": ["before", "limit"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 unpack(redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[1], '-', 'LIMIT', 0, ARGV[2])),
}
