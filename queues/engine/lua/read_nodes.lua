-- read_nodes: a page of the nodes of a workflow.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   unpublished  zset     nodes that are to be published
-- ARGV
--   first        number of the first
--   last         number of the last
-- REPLIES
--   ok           {node what_became pending} ...   what_became: "" if it is not known that it has ended; pending: 1 if it is to be
--                published, else 0
local reply, nodes, ends, numbers = {'ok'}, {}, {}, {}
for number = tonumber(first), tonumber(last) do
  numbers[#numbers + 1] = string.format('%d', number)
  nodes[#nodes + 1] = string.format('#%d', number)
  ends[#ends + 1] = string.format('@%d', number)
end
nodes, ends = redis.call('HMGET', workflow, unpack(nodes)), redis.call('HMGET', workflow, unpack(ends))
local ranks = redis.call('EXISTS', unpublished) == 1 and redis.call('ZMSCORE', unpublished, unpack(numbers)) or {}
for i, node in ipairs(nodes) do
  if node then reply[#reply + 1] = {node, ends[i] or '', ranks[i] and 1 or 0} end
end
return reply
