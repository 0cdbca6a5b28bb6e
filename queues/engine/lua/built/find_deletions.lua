--{"name": "find_deletions", "purpose": "ids of deletions whose memory is to be freed, some at random: so several pumps rarely choose the same.", "keys": ["deletions"], "args": ["limit"], "rest": false, "replies": ["ok"]}
return {
 'ok',
 unpack(redis.call('HRANDFIELD', KEYS[1], ARGV[1])),
}
