--{"name": "read_task", "purpose": "the task of a workflow (cancel or retry), if it has one, and its state.", "keys": ["workflow", "pending"], "args": ["now_ms"], "rest": false, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local found = redis.call('HMGET', KEYS[1], 'created', 'task', 'asked', 'again', 'state', 'nodes', 'changed', 'retention')
local bodies = redis.call('HLEN', KEYS[2])
if not found[1] then
 return {
  'missing',
  now,
  bodies,
 }
end
local ends = found[5] == 'running' and 0 or tonumber(found[7]) + tonumber(found[8])
return {
 'ok',
 now,
 bodies,
 found[2] or '',
 tonumber(found[3] or 0),
 tonumber(found[4] or 0),
 found[5],
 tonumber(found[6]),
 ends,
}
