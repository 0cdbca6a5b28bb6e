--{"name": "end_task", "purpose": "records that what was to be done with a workflow has been done. Sets when something is to be done with it next.", "keys": ["workflow", "pending", "unpublished", "workflows"], "args": ["now_ms", "name", "task", "asked"], "rest": false, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local found = redis.call('HMGET', KEYS[1], 'created', 'task', 'asked', 'again')
if not found[1] then
 return {
  'missing',
 }
end
if ARGV[3] ~= '' and found[2] == ARGV[3] and found[3] == ARGV[4] then
 redis.call('HDEL', KEYS[1], 'task')
end
if found[4] and tonumber(found[4]) <= now then
 redis.call('HDEL', KEYS[1], 'again')
end
local refresh
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
 refresh = state
end
return {
 'ok',
 refresh,
}
