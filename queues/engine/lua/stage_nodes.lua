-- stage_nodes: writes bodies of nodes that are about to be added (lua/commit_nodes.lua). Bodies that are not added within a minute are dropped.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   pending      hash     gets them
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   keep         ms        until they are dropped
--   ...          for each: job id; what it is published with, and its body
-- REPLIES
--   ok
redis.call('HSET', pending, unpack(ARGV, REST))
redis.call('ZADD', workflows, 'LT', now + tonumber(keep), name)
return {'ok'}
