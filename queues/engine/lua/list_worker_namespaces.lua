-- list_worker_namespaces: namespaces with a recent heartbeat of a worker.
-- KEYS
--   spaces       zset     namespace → time of its workers' latest beat
-- ARGV
--   now_ms       ms or ""
--   forget       ms       heartbeats that are older are left out
-- REPLIES
--   ok           namespace ...
local reply = {'ok'}
for _, one in ipairs(redis.call('ZRANGEBYSCORE', spaces, now - forget, '+inf')) do reply[#reply + 1] = one end
return reply
