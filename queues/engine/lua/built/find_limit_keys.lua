--{"name": "find_limit_keys", "purpose": "the limit keys with ready jobs that begin with a text, in order of their bytes. A seek for each key, however", "keys": ["lines", "shares"], "args": ["now_ms", "prefix", "after", "number", "limits"], "rest": false, "replies": ["ok"]}
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
 local _, found = string.find(ARGV[5], '\n' .. its_key .. '\t', 1, true)
 return found and tonumber(string.match(ARGV[5], '^%d+', found + 1)) or default
end
local function describe_key(its_key_2, raw)
 local __2, __3, at_once, step, burst, weight
 repeat
  if ARGV[5] == '' then
   __2, __3, at_once, step, burst, weight = 0, 0, 0, 0, 0, 1
   break
  end
  local queue_step, queue_burst, at_once_2, step_2, burst_2, weight_2 = string.match(ARGV[5], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  __2, __3, at_once, step, burst, weight = tonumber(queue_step), tonumber(queue_burst), tonumber(at_once_2), tonumber(step_2), tonumber(burst_2), tonumber(weight_2)
 until true
 local in_work, __4, tat
 repeat
  if not raw then
   in_work, __4, tat = 0, 0, 0
   break
  end
  in_work, __4, tat = struct.unpack('>I4dd', raw)
 until true
 local word, free_at = 'turn', 0
 if at_once > 0 and in_work >= at_once then
  word = 'concurrency'
 elseif step > 0 then
  local free, its_tat
  do
   local tat_2, its_step, its_burst = tat, step, burst
   local latest = now_us + its_burst * its_step
   tat_2 = math.min(math.max(tat_2, now_us), latest)
   free, its_tat = math.floor((latest - tat_2) / its_step), tat_2
  end
  if free <= 0 then
   local conforms_at
   do
    local tat_3, its_step_2, its_burst_2 = its_tat, step, burst
    conforms_at = math.ceil((tat_3 + its_step_2 - its_burst_2 * its_step_2) / 1000)
   end
   word, free_at = 'rate', conforms_at
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
  weight_of(its_key_2, weight),
  word,
  free_at,
 }
end
local queue_free_at
repeat
 local queue_step_2, queue_burst_2
 repeat
  if ARGV[5] == '' then
   queue_step_2, queue_burst_2 = 0, 0, 0, 0, 0, 1
   break
  end
  local queue_step_3, queue_burst_3, at_once_3, step_3, burst_3, weight_3 = string.match(ARGV[5], '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  queue_step_2, queue_burst_2 = tonumber(queue_step_3), tonumber(queue_burst_3), tonumber(at_once_3), tonumber(step_3), tonumber(burst_3), tonumber(weight_3)
 until true
 if queue_step_2 == 0 then
  queue_free_at = 0
  break
 end
 local __5, __6, tat_4
 repeat
  local raw_2 = redis.call('HGET', KEYS[2], '')
  if not raw_2 then
   __5, __6, tat_4 = 0, 0, 0
   break
  end
  __5, __6, tat_4 = struct.unpack('>ddd', raw_2)
 until true
 local free_2, its_tat_2
 do
  local tat_5, its_step_3, its_burst_3 = tat_4, queue_step_2, queue_burst_2
  local latest_2 = now_us + its_burst_3 * its_step_3
  tat_5 = math.min(math.max(tat_5, now_us), latest_2)
  free_2, its_tat_2 = math.floor((latest_2 - tat_5) / its_step_3), tat_5
 end
 local value = free_2 > 0 and 0
 if not value then
  local conforms_at_2
  do
   local tat_6, its_step_4, its_burst_4 = its_tat_2, queue_step_2, queue_burst_2
   conforms_at_2 = math.ceil((tat_6 + its_step_4 - its_burst_4 * its_step_4) / 1000)
  end
  value = conforms_at_2
 end
 queue_free_at = value
until true
local reply = {
 'ok',
 now,
 0,
 queue_free_at,
}
local from_2 = ARGV[3] == '' and '[' .. ARGV[2] or '[' .. ARGV[3] .. string.char(1)
local to_2 = '(' .. ARGV[2] .. string.char(255)
for __7 = 1, ARGV[4] + 1 do
 local line = redis.call('ZRANGEBYLEX', KEYS[1], from_2, to_2, 'LIMIT', 0, 1)[1]
 if not line then
  break
 end
 if #reply == ARGV[4] + 4 then
  reply[3] = 1
  break
 end
 local its_key_3 = string.sub(line, 1, (line and string.find(line, '%z')) - 1)
 reply[#reply + 1] = describe_key(its_key_3, redis.call('HGET', KEYS[2], its_key_3))
 from_2 = '[' .. its_key_3 .. string.char(1)
end
return reply
