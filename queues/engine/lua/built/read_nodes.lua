--{"name": "read_nodes", "purpose": "a page of the nodes of a workflow.", "keys": ["workflow", "unpublished"], "args": ["first", "last"], "rest": false, "replies": ["ok"]}
local reply, nodes, ends, numbers = {
 'ok',
}, {
}, {
}, {
}
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
 numbers[#numbers + 1] = string.format('%d', number)
 nodes[#nodes + 1] = string.format('#%d', number)
 ends[#ends + 1] = string.format('@%d', number)
end
nodes, ends = redis.call('HMGET', KEYS[1], unpack(nodes)), redis.call('HMGET', KEYS[1], unpack(ends))
local ranks = redis.call('EXISTS', KEYS[2]) == 1 and redis.call('ZMSCORE', KEYS[2], unpack(numbers)) or {
}
for i, node in ipairs(nodes) do
 if node then
  reply[#reply + 1] = {
   node,
   ends[i] or '',
   ranks[i] and 1 or 0,
  }
 end
end
return reply
