-- drop_staged: drops bodies of nodes that were staged and not added (lua/stage_nodes.lua), some at a time. The first write frees.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     nodes that are to be published, whose bodies stay
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   keep         ms        for which a body is kept
--   cursor       HSCAN's, where to go on
-- REPLIES
--   ok           cursor left    where to go on, 0: it was at the end; bodies that are left
-- INCLUDES ids
local next_cursor = '0'
if redis.call('EXISTS', unpublished) == 0 then
  local found = redis.call('HSCAN', pending, cursor, 'COUNT', 8)
  next_cursor = found[1]
  for i = 1, #found[2], 2 do
    if id_time(found[2][i]) + tonumber(keep) <= now then redis.call('HDEL', pending, found[2][i]) end
  end
end
local left = redis.call('HLEN', pending)
if left == 0 and redis.call('EXISTS', workflow) == 0 then redis.call('ZREM', workflows, name) end
return {'ok', next_cursor, left}
