-- write_probe: writes a key that expires, to find out whether this server takes the writes of consumers and producers.
-- A replica refuses, and so does a server that cannot write its append-only file. A full one does not: consuming goes on there.
-- KEYS
--   probe        string   nothing of interest; expires
-- ARGV
-- REPLIES
--   ok
redis.call('DEL', probe) -- a write that needs no memory: a full Redis lets what follows it through
redis.call('SET', probe, '1', 'EX', 60)
return {'ok'}
