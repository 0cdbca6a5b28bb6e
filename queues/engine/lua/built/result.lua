--{"name": "result", "purpose": "the result of a completed job.", "keys": ["jobs", "runs", "results", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped"], "args": ["now_ms", "id"], "rest": false, "replies": ["completed", "pending", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function find_state(id)
 for name, set in pairs({
  working = KEYS[6],
  delayed = KEYS[4],
  retry = KEYS[5],
  dead = KEYS[7],
  completed = KEYS[8],
  blocked = KEYS[9],
  grouped = KEYS[10],
 }) do
  local score = redis.call('ZSCORE', set, id)
  if score then
   return name, score
  end
 end
 return 'ready', ''
end
local expires
repeat
 local raw_run = redis.call('HGET', KEYS[2], ARGV[2])
 if raw_run then
  expires = (struct.unpack('>I6', raw_run, 10))
  break
 end
 local raw = redis.call('HGET', KEYS[1], ARGV[2])
 expires = raw and (struct.unpack('>I6', raw, 4))
until true
if not expires then
 return {
  'missing',
 }
end
local state = find_state(ARGV[2])
if state == 'completed' then
 return {
  'completed',
  redis.call('HGET', KEYS[3], ARGV[2]),
 }
end
local value = (state == 'ready' or state == 'delayed' or state == 'retry' or state == 'blocked' or state == 'grouped')
if value then
 local has_expired
 do
  local expires_2 = expires
  has_expired = expires_2 > 0 and expires_2 <= now
 end
 value = has_expired
end
if value then
 return {
  'missing',
 }
end
return {
 'pending',
 state,
}
