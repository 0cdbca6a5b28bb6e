-- read_nodes: a page of the nodes of a workflow.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
-- ARGV
--   first        number of the first
--   last         number of the last
-- REPLIES
--   ok           {node what_became} ...   what_became: "" if it is not known that it has ended
local reply, nodes, ends = {'ok'}, {}, {}
for number = tonumber(first), tonumber(last) do
  nodes[#nodes + 1] = string.format('#%d', number)
  ends[#ends + 1] = string.format('@%d', number)
end
nodes, ends = redis.call('HMGET', workflow, unpack(nodes)), redis.call('HMGET', workflow, unpack(ends))
for i, node in ipairs(nodes) do
  if node then reply[#reply + 1] = {node, ends[i] or ''} end
end
return reply
