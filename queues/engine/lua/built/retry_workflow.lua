--{"name": "retry_workflow", "purpose": "marks that the dead nodes of a failed workflow are to be revived, which is done after this call.", "keys": ["workflow", "pending", "unpublished", "workflows"], "args": ["now_ms", "name"], "rest": false, "replies": ["ok", "other", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local found = redis.call('HMGET', KEYS[1], 'created', 'state')
if not found[1] then
 return {
  'missing',
 }
end
if found[2] ~= 'failed' then
 return {
  'other',
  found[2],
 }
end
redis.call('HSET', KEYS[1], 'task', 'retry', 'asked', now)
do
 local raw = redis.call('HMGET', KEYS[1], 'nodes', 'done', 'failed', 'cancelled', 'state', 'retention', 'changed', 'task', 'again')
 local state = 'running'
 if raw[4] then
  state = 'cancelled'
 elseif tonumber(raw[3] or 0) > 0 then
  state = 'failed'
 elseif raw[2] == raw[1] then
  state = 'done'
 end
 if state ~= raw[5] then
  redis.call('HSET', KEYS[1], 'state', state, 'ended', state == 'running' and 0 or now)
 end
 local at = math.huge
 if redis.call('EXISTS', KEYS[3]) == 1 or raw[8] then
  at = now + 500
 end
 if redis.call('EXISTS', KEYS[2]) == 1 then
  at = math.min(at, now + 60000)
 end
 if raw[9] then
  at = math.min(at, tonumber(raw[9]))
 end
 if at == math.huge and state ~= 'running' then
  at = tonumber(raw[7]) + tonumber(raw[6])
 end
 if at < math.huge then
  redis.call('ZADD', KEYS[4], at, ARGV[2])
 else
  redis.call('ZREM', KEYS[4], ARGV[2])
 end
end
return {
 'ok',
 now,
}
