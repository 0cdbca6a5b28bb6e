--{"name": "note_nodes", "purpose": "records what has become of nodes of a workflow. News that is known, or older than what is known, changes nothing.", "keys": ["workflow", "pending", "unpublished", "workflows"], "args": ["now_ms", "name"], "rest": true, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local record = redis.call('HMGET', KEYS[1], 'created', 'cancelled')
if not record[1] then
 return {
  'missing',
 }
end
local counters = {
 done = 'done',
 dead = 'failed',
 deleted = 'failed',
 expired = 'failed',
}
local changed, changes = 0, {
 done = 0,
 failed = 0,
}
for i = 3, #ARGV, 4 do
 local number, outcome, as_of = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
 if record[2] and outcome == 'deleted' then
  outcome = 'cancelled'
 end
 local known, known_as_of = string.match(redis.call('HGET', KEYS[1], '@' .. number) or '\t0\t', '^(%l*)\t(%d+)\t')
 local is_final = known ~= '' and known ~= 'dead'
 if not is_final and as_of >= tonumber(known_as_of) and (outcome ~= known or outcome ~= '') and redis.call('HEXISTS', KEYS[1], '#' .. number) == 1 then
  redis.call('HSET', KEYS[1], '@' .. number, outcome .. '\t' .. ARGV[i + 2] .. '\t' .. ARGV[i + 3])
  if outcome ~= known then
   changed = changed + 1
   local before, after = counters[known], counters[outcome]
   if before then
    changes[before] = changes[before] - 1
   end
   if after then
    changes[after] = changes[after] + 1
   end
  end
 end
end
for counter, change in pairs(changes) do
 if change ~= 0 then
  redis.call('HINCRBY', KEYS[1], counter, change)
 end
end
if changed > 0 then
 redis.call('HSET', KEYS[1], 'changed', now)
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
 changed,
 refresh,
}
