-- list_worker_namespaces: the namespaces that workers were heard of lately in.
-- KEYS
--   spaces       zset     namespace → time of its workers' latest beat
-- ARGV
--   now_ms       ms or ""
--   forget       ms       what is older is left out
-- REPLIES
--   ok           namespace ...
local reply = {'ok'}
for _, one in ipairs(redis.call('ZRANGEBYSCORE', spaces, now - forget, '+inf')) do reply[#reply + 1] = one end
return reply
