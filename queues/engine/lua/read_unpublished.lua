-- read_unpublished: the nodes of a workflow whose jobs are to be published next. Those of one rank may be published in any order.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     the nodes
-- ARGV
--   now_ms       ms or ""
--   limit        nodes
--   budget       bytes    of bodies: the first, and so many more
-- REPLIES
--   ok           now {number node pending} ...
local reply = {'ok', now}
local head = redis.call('ZRANGE', unpublished, 0, limit - 1, 'WITHSCORES')
local bytes = 0
for i = 1, #head, 2 do
  if head[i + 1] ~= head[2] or bytes > tonumber(budget) then break end
  local node = redis.call('HGET', workflow, '#' .. head[i])
  local id = string.match(node, '^[^\t]*\t[^\t]*\t(%w+)')
  local body = redis.call('HGET', pending, id) or ''
  bytes = bytes + #body
  reply[#reply + 1] = {head[i], node, body}
end
return reply
