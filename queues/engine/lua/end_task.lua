-- end_task: records that what was to be done with a workflow has been done. Sets when something is to be done with it next.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     nodes that are to be published
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   task         that has been done, or ""
--   asked        ms        when it had been asked for
-- REPLIES
--   ok           state
--   missing
-- INCLUDES workflow
local found = redis.call('HMGET', workflow, 'created', 'task', 'asked', 'again')
if not found[1] then return {'missing'} end
if task ~= '' and found[2] == task and found[3] == asked then redis.call('HDEL', workflow, 'task') end
if found[4] and tonumber(found[4]) <= now then redis.call('HDEL', workflow, 'again') end
return {'ok', refresh()}
