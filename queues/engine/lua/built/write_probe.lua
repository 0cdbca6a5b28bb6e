--{"name": "write_probe", "purpose": "writes a key that expires, to find out whether this server takes the writes of consumers, or of producers.", "keys": ["probe"], "args": ["frees"], "rest": false, "replies": ["ok"]}
if ARGV[1] == '1' then
 redis.call('DEL', KEYS[1])
end
redis.call('SET', KEYS[1], '1', 'EX', 60)
return {
 'ok',
}
