--{"name": "read_nodes", "purpose": "a page of the nodes of a workflow.", "keys": ["workflow"], "args": ["first", "last"], "rest": false, "replies": ["ok"]}
local reply, nodes, ends = {
 'ok',
}, {
}, {
}
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
 nodes[#nodes + 1] = string.format('#%d', number)
 ends[#ends + 1] = string.format('@%d', number)
end
nodes, ends = redis.call('HMGET', KEYS[1], unpack(nodes)), redis.call('HMGET', KEYS[1], unpack(ends))
for i, node in ipairs(nodes) do
 if node then
  reply[#reply + 1] = {
   node,
   ends[i] or '',
  }
 end
end
return reply
