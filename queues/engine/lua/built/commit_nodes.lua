--{"name": "commit_nodes", "purpose": "makes a workflow with its first nodes, or adds nodes to one, all or nothing. Their jobs are published after it.", "keys": ["workflow", "pending", "unpublished", "workflows", "index"], "args": ["now_ms", "name", "base", "digest", "title", "retention", "most", "needed", "added"], "rest": true, "replies": ["ok", "repeated", "exists", "missing", "changed", "ended", "lost", "too_many", "unstaged"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local found = redis.call('HMGET', KEYS[1], 'created', 'nodes', 'state', ':' .. ARGV[4], 'retention')
if found[4] then
 return {
  'repeated',
 }
end
if ARGV[3] == '' then
 if found[1] then
  return {
   'exists',
  }
 end
else
 if not found[1] then
  return {
   'missing',
  }
 end
 if found[3] == 'done' or found[3] == 'cancelled' then
  return {
   'ended',
   found[3],
  }
 end
 if found[2] ~= ARGV[3] then
  return {
   'changed',
   tonumber(found[2]),
  }
 end
end
local count, first = tonumber(ARGV[3] ~= '' and ARGV[3] or 0), 10 + tonumber(ARGV[8])
local places = first + 4 * ARGV[9]
local ids = places + 2 * ARGV[9]
for i = 10, first - 1 do
 local became = redis.call('HGET', KEYS[1], '@' .. ARGV[i]) or ''
 if string.find(became, '^deleted\t') or string.find(became, '^expired\t') then
  return {
   'lost',
   tonumber(ARGV[i]),
  }
 end
end
if count + ARGV[9] > tonumber(ARGV[7]) then
 return {
  'too_many',
  count,
 }
end
for i_2 = ids, #ARGV do
 if redis.call('HEXISTS', KEYS[2], ARGV[i_2]) == 0 then
  return {
   'unstaged',
  }
 end
end
count = count + ARGV[9]
redis.call('HSET', KEYS[1], unpack(ARGV, first, places - 1))
redis.call('ZADD', KEYS[3], unpack(ARGV, places, ids - 1))
redis.call('HSET', KEYS[1], 'nodes', count, 'changed', now, ':' .. ARGV[4], '1')
if ARGV[3] == '' then
 redis.call('HSET', KEYS[1], 'name', ARGV[5], 'created', now, 'retention', ARGV[6], 'done', 0, 'failed', 0)
 redis.call('ZADD', KEYS[5], 0, string.format('%013.0f', now) .. string.match(ARGV[2], '/.*$'))
end
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
 count,
}
