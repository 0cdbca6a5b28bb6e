-- cancel_workflow: marks a workflow as cancelled: nothing more of it is published. Its jobs are cancelled after it. One that
-- is cancelled stays so. The first write frees, or there was nothing to be published.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     the nodes that are dropped
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   again        ms        after which its jobs are cancelled once more: another process may be publishing them
-- REPLIES
--   ok           asked changed   asked: when, ms; changed: 0 if it was cancelled before
--   done                   it is done
--   missing
-- INCLUDES workflow
local found = redis.call('HMGET', workflow, 'created', 'state', 'cancelled', 'asked')
if not found[1] then return {'missing'} end
if found[2] == 'done' then return {'done'} end
if found[3] then return {'ok', tonumber(found[4]), 0} end
local is_publishing = redis.call('DEL', unpublished) == 1
redis.call('HSET', workflow, 'cancelled', now, 'changed', now, 'task', 'cancel', 'asked', now)
if is_publishing then redis.call('HSET', workflow, 'again', now + tonumber(again)) end
refresh()
return {'ok', now, 1}
