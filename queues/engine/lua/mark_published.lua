-- mark_published: records that jobs of a workflow's nodes have been published. The first write frees.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     the nodes
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   ...          for each: number; job id
-- REPLIES
--   ok           left state   nodes that are still to be published; the workflow's state
--   missing                the workflow is gone
-- INCLUDES workflow
for i = REST, #ARGV, 2 do
  redis.call('HDEL', pending, ARGV[i + 1])
  redis.call('ZREM', unpublished, ARGV[i])
end
if redis.call('HEXISTS', workflow, 'created') == 0 then return {'missing'} end
return {'ok', redis.call('ZCARD', unpublished), refresh()}
