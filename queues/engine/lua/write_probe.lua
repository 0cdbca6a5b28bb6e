-- write_probe: writes a key that expires, to find out whether this server takes the writes of consumers, or of producers.
-- A replica refuses both, and so does a server that cannot write its append-only file; a full one only the second.
-- KEYS
--   probe        string   nothing of interest; expires
-- ARGV
--   frees        1 = begins as consume does, 0 = as publish does
-- REPLIES
--   ok
if frees == '1' then redis.call('DEL', probe) end -- needs no memory: a full Redis lets what follows it through
redis.call('SET', probe, '1', 'EX', 60)
return {'ok'}
