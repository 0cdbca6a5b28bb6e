--{"name": "detail", "purpose": "all that is known of one job.", "keys": ["jobs", "runs", "results", "priorities", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped"], "args": ["now_ms", "id", "preview"], "rest": false, "replies": ["job", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function find_state(id)
 for name, set in pairs({
  working = KEYS[7],
  delayed = KEYS[5],
  retry = KEYS[6],
  dead = KEYS[8],
  completed = KEYS[9],
  blocked = KEYS[10],
  grouped = KEYS[11],
 }) do
  local score = redis.call('ZSCORE', set, id)
  if score then
   return name, score
  end
 end
 return 'ready', ''
end
local found
repeat
 local id_2, preview, raw = ARGV[2], tonumber(ARGV[3]), nil
 local raw_run = redis.call('HGET', KEYS[2], id_2)
 local expires
 repeat
  if raw_run then
   expires = (struct.unpack('>I6', raw_run, 10))
   break
  end
  local raw_2 = redis.call('HGET', KEYS[1], id_2)
  expires = raw_2 and (struct.unpack('>I6', raw_2, 4))
 until true
 if not expires then
  found = nil
  break
 end
 local state, score_2 = nil, ''
 do
  state, score_2 = find_state(id_2)
 end
 local value
 do
  local state_2 = state
  value = state_2 == 'ready' or state_2 == 'delayed' or state_2 == 'retry' or state_2 == 'blocked' or state_2 == 'grouped'
 end
 if value then
  local has_expired
  do
   local expires_2 = expires
   has_expired = expires_2 > 0 and expires_2 <= now
  end
  value = has_expired
 end
 if value then
  found = nil
  break
 end
 raw = raw or redis.call('HGET', KEYS[1], id_2)
 local _, __2, __3, __4, body_at
 do
  local raw_3 = raw
  local bits, tries, expires_3, at = struct.unpack('>BHI6', raw_3)
  local due_ms, options = nil, ''
  if bits >= 2 then
   due_ms, at = struct.unpack('>I6', raw_3, at)
   bits = bits - 2
  end
  if bits == 1 then
   options, at = struct.unpack('>Hc0', raw_3, at)
  end
  _, __2, __3, __4, body_at = tries, expires_3, due_ms, options, at
 end
 local size = #raw - body_at + 1
 if preview then
  raw = string.sub(raw, 1, body_at - 1 + preview)
 end
 local priority_of
 repeat
  local place = redis.call('HGET', KEYS[4], id_2)
  local zero = (place and string.find(place, '%z'))
  if zero then
   priority_of = 100 - string.byte(place, zero + 1)
   break
  end
  priority_of = tonumber(place or 0)
 until true
 found = {
  id_2,
  state,
  score_2,
  raw,
  raw_run or '',
  priority_of,
  redis.call('HEXISTS', KEYS[3], id_2) == 1 and redis.call('HSTRLEN', KEYS[3], id_2) or -1,
  size,
 }
until true
return found and {
 'job',
 now,
 found,
} or {
 'missing',
}
