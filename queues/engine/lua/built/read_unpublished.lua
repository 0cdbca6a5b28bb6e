--{"name": "read_unpublished", "purpose": "the nodes of a workflow whose jobs are to be published next. Those of one rank may be published in any order.", "keys": ["workflow", "pending", "unpublished"], "args": ["now_ms", "limit", "budget"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local reply = {
 'ok',
 now,
}
local head = redis.call('ZRANGE', KEYS[3], 0, ARGV[2] - 1, 'WITHSCORES')
local bytes = 0
for i = 1, #head, 2 do
 if head[i + 1] ~= head[2] or bytes > tonumber(ARGV[3]) then
  break
 end
 local node = redis.call('HGET', KEYS[1], '#' .. head[i])
 local id = string.match(node, '^[^\t]*\t[^\t]*\t(%w+)')
 local body = redis.call('HGET', KEYS[2], id) or ''
 bytes = bytes + #body
 reply[#reply + 1] = {
  head[i],
  node,
  body,
 }
end
return reply
