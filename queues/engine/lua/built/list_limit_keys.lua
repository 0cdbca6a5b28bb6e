--{"name": "list_limit_keys", "purpose": "a page of the limit keys with ready jobs: those at a limit, the soonest first, then those whose turn is next.", "keys": ["lines", "turns", "shares"], "args": ["now_ms", "first", "number", "limits"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local now_us = now * 1000
local function weight_of(its_key, default)
 if its_key == '' then
  return default
 end
 local _, found = string.find(ARGV[4], '\n' .. its_key .. '\t', 1, true)
 return found and tonumber(string.match(ARGV[4], '^%d+', found + 1)) or default
end
local function queue_free_at()
 local queue_step, queue_burst
 repeat
  if ARGV[4] == '' then
   queue_step, queue_burst = 0, 0, 0, 0, 0, 1
   break
  end
  local queue_step_2, queue_burst_2, at_once, step, burst, weight = string.match(ARGV[4], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  queue_step, queue_burst = tonumber(queue_step_2), tonumber(queue_burst_2), tonumber(at_once), tonumber(step), tonumber(burst), tonumber(weight)
 until true
 if queue_step == 0 then
  return 0
 end
 local __2, __3, tat
 repeat
  local raw = redis.call('HGET', KEYS[3], '')
  if not raw then
   __2, __3, tat = 0, 0, 0
   break
  end
  __2, __3, tat = struct.unpack('>ddd', raw)
 until true
 local free, its_tat
 do
  local tat_2, its_step, its_burst = tat, queue_step, queue_burst
  local latest = now_us + its_burst * its_step
  tat_2 = math.min(math.max(tat_2, now_us), latest)
  free, its_tat = math.floor((latest - tat_2) / its_step), tat_2
 end
 local value = free > 0 and 0
 if not value then
  local conforms_at
  do
   local tat_3, its_step_2, its_burst_2 = its_tat, queue_step, queue_burst
   conforms_at = math.ceil((tat_3 + its_step_2 - its_burst_2 * its_step_2) / 1000)
  end
  value = conforms_at
 end
 return value
end
local function describe_key(its_key_2, raw_2)
 local __4, __5, at_once_2, step_2, burst_2, weight_2
 repeat
  if ARGV[4] == '' then
   __4, __5, at_once_2, step_2, burst_2, weight_2 = 0, 0, 0, 0, 0, 1
   break
  end
  local queue_step_3, queue_burst_3, at_once_3, step_3, burst_3, weight_3 = string.match(ARGV[4], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  __4, __5, at_once_2, step_2, burst_2, weight_2 = tonumber(queue_step_3), tonumber(queue_burst_3), tonumber(at_once_3), tonumber(step_3), tonumber(burst_3), tonumber(weight_3)
 until true
 local in_work, __6, tat_4
 repeat
  if not raw_2 then
   in_work, __6, tat_4 = 0, 0, 0
   break
  end
  in_work, __6, tat_4 = struct.unpack('>I4dd', raw_2)
 until true
 local word, free_at = 'turn', 0
 if at_once_2 > 0 and in_work >= at_once_2 then
  word = 'concurrency'
 elseif step_2 > 0 then
  local free_2, its_tat_2
  do
   local tat_5, its_step_3, its_burst_3 = tat_4, step_2, burst_2
   local latest_2 = now_us + its_burst_3 * its_step_3
   tat_5 = math.min(math.max(tat_5, now_us), latest_2)
   free_2, its_tat_2 = math.floor((latest_2 - tat_5) / its_step_3), tat_5
  end
  if free_2 <= 0 then
   local conforms_at_2
   do
    local tat_6, its_step_4, its_burst_4 = its_tat_2, step_2, burst_2
    conforms_at_2 = math.ceil((tat_6 + its_step_4 - its_burst_4 * its_step_4) / 1000)
   end
   word, free_at = 'rate', conforms_at_2
  end
 end
 local from, to
 do
  local prefix = its_key_2 .. string.char(0)
  from, to = '[' .. prefix, '(' .. string.sub(prefix, 1, -2) .. string.char(string.byte(prefix, -1) + 1)
 end
 return {
  its_key_2,
  redis.call('ZLEXCOUNT', KEYS[1], from, to),
  in_work,
  weight_of(its_key_2, weight_2),
  word,
  free_at,
 }
end
local format_turn
do
 local score = -4503599627370496
 format_turn = string.format('%.0f', score)
end
local resting = redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. format_turn)
local format_turn_2
do
 local score_2 = -4503599627370496
 format_turn_2 = string.format('%.0f', score_2)
end
local throttled = redis.call('ZCOUNT', KEYS[2], format_turn_2, '(0')
local reply = {
 'ok',
 now,
 redis.call('ZCARD', KEYS[2]) - resting,
 throttled,
 queue_free_at(),
}
local found_2 = redis.call('ZRANGE', KEYS[2], resting + ARGV[2], resting + ARGV[2] + ARGV[3] - 1)
local raw_shares = #found_2 > 0 and redis.call('HMGET', KEYS[3], unpack(found_2))
for i, its_key_3 in ipairs(found_2) do
 reply[#reply + 1] = describe_key(its_key_3, raw_shares[i])
end
return reply
