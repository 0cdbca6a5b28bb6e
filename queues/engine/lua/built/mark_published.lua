--{"name": "mark_published", "purpose": "records that jobs of a workflow's nodes have been published. The first write frees.", "keys": ["workflow", "pending", "unpublished", "workflows"], "args": ["now_ms", "name"], "rest": true, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function refresh()
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
 return state
end
for i = 3, #ARGV, 2 do
 redis.call('HDEL', KEYS[2], ARGV[i + 1])
 redis.call('ZREM', KEYS[3], ARGV[i])
end
if redis.call('HEXISTS', KEYS[1], 'created') == 0 then
 return {
  'missing',
 }
end
return {
 'ok',
 redis.call('ZCARD', KEYS[3]),
 refresh(),
}
