-- retry_workflow: marks that the dead nodes of a failed workflow are to be revived, which is done after this call.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     nodes that are to be published
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
-- REPLIES
--   ok           asked     ms: jobs that died later are not meant
--   other        state     it has not failed
--   missing
-- INCLUDES workflow
local found = redis.call('HMGET', workflow, 'created', 'state')
if not found[1] then return {'missing'} end
if found[2] ~= 'failed' then return {'other', found[2]} end
redis.call('HSET', workflow, 'task', 'retry', 'asked', now)
refresh()
return {'ok', now}
