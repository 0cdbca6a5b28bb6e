--{"name": "plan_drain", "purpose": "records which entries of a stream are written to the lake next: from the oldest one to `last`. So every process", "keys": ["events", "counters", "drain"], "args": ["now_ms", "last", "instead"], "rest": false, "replies": ["ok", "planned", "gone"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local plan = redis.call('HMGET', KEYS[3], 'first', 'last', 'drops', 'accounted', 'done')
local accounted, done = tonumber(plan[4] or 0), plan[5] or ''
if plan[1] and plan[1] .. ' ' .. plan[2] ~= ARGV[3] then
 return {
  'planned',
  plan[1],
  plan[2],
  tonumber(plan[3]) - accounted,
  done,
 }
end
if not redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1] then
 return {
  'gone',
 }
end
local first = redis.call('XRANGE', KEYS[1], '-', ARGV[2], 'COUNT', 1)[1][1]
local drops = tonumber(redis.call('HGET', KEYS[2], 'events_dropped') or 0)
redis.call('HDEL', KEYS[3], 'removed')
redis.call('HSET', KEYS[3], 'first', first, 'last', ARGV[2], 'drops', drops, 'at', now)
return {
 'ok',
 first,
 ARGV[2],
 drops - accounted,
 done,
}
