--{"name": "find_nodes", "purpose": "the record of a workflow without its nodes, and those nodes that have certain names.", "keys": ["workflow"], "args": ["now_ms", "digest"], "rest": true, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local fields = redis.call('HMGET', KEYS[1], 'name', 'created', 'retention', 'nodes', 'done', 'failed', 'state', 'ended', 'changed', 'cancelled')
if not fields[2] then
 return {
  'missing',
  now,
 }
end
local reply = {
 'ok',
 now,
 redis.call('HEXISTS', KEYS[1], ':' .. ARGV[2]),
 fields,
}
for i = 3, #ARGV do
 local number = redis.call('HGET', KEYS[1], '=' .. ARGV[i])
 local found = {
 }
 if number then
  found = {
   number,
   redis.call('HGET', KEYS[1], '#' .. number),
   redis.call('HGET', KEYS[1], '@' .. number) or '',
  }
 end
 reply[#reply + 1] = found
end
return reply
