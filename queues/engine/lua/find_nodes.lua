-- find_nodes: the record of a workflow without its nodes, and those nodes that have certain names.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
-- ARGV
--   now_ms       ms or ""
--   digest       of a request: whether the workflow has its nodes
--   ...          names
-- REPLIES
--   ok           now has_digest fields node ...   fields: the record's, as HMGET gives them; node: {number node what_became} or {}
--   missing      now
local fields = redis.call('HMGET', workflow, 'name', 'created', 'retention', 'nodes', 'done', 'failed', 'state', 'ended', 'changed',
  'cancelled')
if not fields[2] then return {'missing', now} end
local reply = {'ok', now, redis.call('HEXISTS', workflow, ':' .. digest), fields}
for i = REST, #ARGV do
  local number = redis.call('HGET', workflow, '=' .. ARGV[i])
  local found = {}
  if number then found = {number, redis.call('HGET', workflow, '#' .. number), redis.call('HGET', workflow, '@' .. number) or ''} end
  reply[#reply + 1] = found
end
return reply
