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
local queue_step, queue_burst, at_once, step, burst, weight
repeat
 if ARGV[4] == '' then
  queue_step, queue_burst, at_once, step, burst, weight = 0, 0, 0, 0, 0, 1
  break
 end
 local queue_step_2, queue_burst_2, at_once_2, step_2, burst_2, weight_2 = string.match(ARGV[4], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
 queue_step, queue_burst, at_once, step, burst, weight = tonumber(queue_step_2), tonumber(queue_burst_2), tonumber(at_once_2), tonumber(step_2), tonumber(burst_2), tonumber(weight_2)
until true
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
 0,
}
if queue_step > 0 then
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
 if free <= 0 then
  local conforms_at
  do
   local tat_3, its_step_2, its_burst_2 = its_tat, queue_step, queue_burst
   conforms_at = math.ceil((tat_3 + its_step_2 - its_burst_2 * its_step_2) / 1000)
  end
  reply[5] = conforms_at
 end
end
local found_2 = redis.call('ZRANGE', KEYS[2], resting + ARGV[2], resting + ARGV[2] + ARGV[3] - 1)
local raw_shares = #found_2 > 0 and redis.call('HMGET', KEYS[3], unpack(found_2))
for i, its_key_2 in ipairs(found_2) do
 local in_work, __4, tat_4
 repeat
  local raw_2 = raw_shares[i]
  if not raw_2 then
   in_work, __4, tat_4 = 0, 0, 0
   break
  end
  in_work, __4, tat_4 = struct.unpack('>I4dd', raw_2)
 until true
 local word, free_at = 'turn', 0
 if at_once > 0 and in_work >= at_once then
  word = 'concurrency'
 elseif step > 0 then
  local free_2, its_tat_2
  do
   local tat_5, its_step_3, its_burst_3 = tat_4, step, burst
   local latest_2 = now_us + its_burst_3 * its_step_3
   tat_5 = math.min(math.max(tat_5, now_us), latest_2)
   free_2, its_tat_2 = math.floor((latest_2 - tat_5) / its_step_3), tat_5
  end
  if free_2 <= 0 then
   local conforms_at_2
   do
    local tat_6, its_step_4, its_burst_4 = its_tat_2, step, burst
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
 reply[#reply + 1] = {
  its_key_2,
  redis.call('ZLEXCOUNT', KEYS[1], from, to),
  in_work,
  weight_of(its_key_2, weight),
  word,
  free_at,
 }
end
return reply
