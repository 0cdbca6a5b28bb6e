-- read_task: the task of a workflow (cancel or retry), if it has one, and its state.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now pending task asked again state nodes ends    pending: number of bodies; ends: when it is dropped, ms
--   missing      now pending
local found = redis.call('HMGET', workflow, 'created', 'task', 'asked', 'again', 'state', 'nodes', 'changed', 'retention')
local bodies = redis.call('HLEN', pending)
if not found[1] then return {'missing', now, bodies} end
local ends = found[5] == 'running' and 0 or tonumber(found[7]) + tonumber(found[8])
return {'ok', now, bodies, found[2] or '', tonumber(found[3] or 0), tonumber(found[4] or 0), found[5], tonumber(found[6]), ends}
