--{"name": "dead_head", "purpose": "number of dead letters and the oldest of them.", "keys": ["dead"], "args": [], "rest": false, "replies": ["ok"]}
return {
 'ok',
 redis.call('ZCARD', KEYS[1]),
 redis.call('ZRANGE', KEYS[1], 0, 0)[1] or '',
}
