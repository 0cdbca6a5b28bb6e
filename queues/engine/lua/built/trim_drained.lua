--{"name": "trim_drained", "purpose": "takes entries out of a stream that are in the lake, at most `limit`; with the last of them, the plan.", "keys": ["events", "counters", "drain"], "args": ["now_ms", "first", "last", "written", "limit"], "rest": false, "replies": ["ok", "gone"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local plan = redis.call('HMGET', KEYS[3], 'first', 'last', 'drops', 'removed')
if plan[1] ~= ARGV[2] or plan[2] ~= ARGV[3] then
 return {
  'gone',
 }
end
local found = redis.call('XRANGE', KEYS[1], '-', ARGV[3], 'COUNT', ARGV[5])
local taken, freed = 0, 0
for _, entry in ipairs(found) do
 local fields = entry[2]
 taken = taken + tonumber(fields[6])
 local event_bytes
 do
  local place, lines = fields[4], fields[8]
  event_bytes = 40 + math.floor(1.2 * (#place + #lines))
 end
 freed = freed + event_bytes
end
local removed = tonumber(plan[4] or 0) + taken
if #found > 0 then
 redis.call('XTRIM', KEYS[1], 'MAXLEN', redis.call('XLEN', KEYS[1]) - #found)
 redis.call('HINCRBY', KEYS[2], 'events_bytes', -freed)
end
if #found == tonumber(ARGV[5]) then
 redis.call('HSET', KEYS[3], 'removed', removed, 'at', now)
 return {
  'ok',
  taken,
  1,
 }
end
local accounted = tonumber(plan[3]) + math.max(0, tonumber(ARGV[4]) - removed)
redis.call('HDEL', KEYS[3], 'first', 'last', 'drops', 'removed', 'at')
redis.call('HSET', KEYS[3], 'done', ARGV[3], 'accounted', accounted)
return {
 'ok',
 taken,
 0,
}
