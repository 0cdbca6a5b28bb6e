--{"name": "subscribe", "purpose": "subscribes jobs elsewhere to the ends of jobs of this queue, or answers how those have ended. Repeating it changes", "keys": ["jobs", "runs", "keys", "dead", "completed", "batches", "dependants"], "args": ["now_ms"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local last_part = ''
local last_time = 0
local function id_time(id)
 local part = string.sub(id, 1, 10)
 if part == last_part then
  return last_time
 end
 local a, b, c, d, e, f, g, h, i, j = string.byte(part, 1, 10)
 local value_of
 repeat
  if a < 58 then
   value_of = a - 48
   break
  end
  if a < 73 then
   value_of = a - 55
   break
  end
  if a < 76 then
   value_of = a - 56
   break
  end
  if a < 79 then
   value_of = a - 57
   break
  end
  if a < 85 then
   value_of = a - 58
   break
  end
  value_of = a - 59
 until true
 local value_of_2
 repeat
  if b < 58 then
   value_of_2 = b - 48
   break
  end
  if b < 73 then
   value_of_2 = b - 55
   break
  end
  if b < 76 then
   value_of_2 = b - 56
   break
  end
  if b < 79 then
   value_of_2 = b - 57
   break
  end
  if b < 85 then
   value_of_2 = b - 58
   break
  end
  value_of_2 = b - 59
 until true
 local value_of_3
 repeat
  if c < 58 then
   value_of_3 = c - 48
   break
  end
  if c < 73 then
   value_of_3 = c - 55
   break
  end
  if c < 76 then
   value_of_3 = c - 56
   break
  end
  if c < 79 then
   value_of_3 = c - 57
   break
  end
  if c < 85 then
   value_of_3 = c - 58
   break
  end
  value_of_3 = c - 59
 until true
 local value_of_4
 repeat
  if d < 58 then
   value_of_4 = d - 48
   break
  end
  if d < 73 then
   value_of_4 = d - 55
   break
  end
  if d < 76 then
   value_of_4 = d - 56
   break
  end
  if d < 79 then
   value_of_4 = d - 57
   break
  end
  if d < 85 then
   value_of_4 = d - 58
   break
  end
  value_of_4 = d - 59
 until true
 local value_of_5
 repeat
  if e < 58 then
   value_of_5 = e - 48
   break
  end
  if e < 73 then
   value_of_5 = e - 55
   break
  end
  if e < 76 then
   value_of_5 = e - 56
   break
  end
  if e < 79 then
   value_of_5 = e - 57
   break
  end
  if e < 85 then
   value_of_5 = e - 58
   break
  end
  value_of_5 = e - 59
 until true
 local high = (((value_of * 32 + value_of_2) * 32 + value_of_3) * 32 + value_of_4) * 32 + value_of_5
 last_part = part
 local value_of_6
 repeat
  if f < 58 then
   value_of_6 = f - 48
   break
  end
  if f < 73 then
   value_of_6 = f - 55
   break
  end
  if f < 76 then
   value_of_6 = f - 56
   break
  end
  if f < 79 then
   value_of_6 = f - 57
   break
  end
  if f < 85 then
   value_of_6 = f - 58
   break
  end
  value_of_6 = f - 59
 until true
 local value_of_7
 repeat
  if g < 58 then
   value_of_7 = g - 48
   break
  end
  if g < 73 then
   value_of_7 = g - 55
   break
  end
  if g < 76 then
   value_of_7 = g - 56
   break
  end
  if g < 79 then
   value_of_7 = g - 57
   break
  end
  if g < 85 then
   value_of_7 = g - 58
   break
  end
  value_of_7 = g - 59
 until true
 local value_of_8
 repeat
  if h < 58 then
   value_of_8 = h - 48
   break
  end
  if h < 73 then
   value_of_8 = h - 55
   break
  end
  if h < 76 then
   value_of_8 = h - 56
   break
  end
  if h < 79 then
   value_of_8 = h - 57
   break
  end
  if h < 85 then
   value_of_8 = h - 58
   break
  end
  value_of_8 = h - 59
 until true
 local value_of_9
 repeat
  if i < 58 then
   value_of_9 = i - 48
   break
  end
  if i < 73 then
   value_of_9 = i - 55
   break
  end
  if i < 76 then
   value_of_9 = i - 56
   break
  end
  if i < 79 then
   value_of_9 = i - 57
   break
  end
  if i < 85 then
   value_of_9 = i - 58
   break
  end
  value_of_9 = i - 59
 until true
 local value_of_10
 repeat
  if j < 58 then
   value_of_10 = j - 48
   break
  end
  if j < 73 then
   value_of_10 = j - 55
   break
  end
  if j < 76 then
   value_of_10 = j - 56
   break
  end
  if j < 79 then
   value_of_10 = j - 57
   break
  end
  if j < 85 then
   value_of_10 = j - 58
   break
  end
  value_of_10 = j - 59
 until true
 last_time = ((((high * 32 + value_of_6) * 32 + value_of_7) * 32 + value_of_8) * 32 + value_of_9) * 32 + value_of_10
 return last_time
end
local function find_job(id_2)
 if redis.call('HEXISTS', KEYS[1], id_2) == 1 then
  return id_2
 end
 local value = redis.call('HGET', KEYS[6], id_2)
 local batch = value and string.sub(value, 1, 1) == 'm' and string.sub(value, 2, 27)
 return batch and redis.call('HEXISTS', KEYS[1], batch) == 1 and batch or nil
end
local reply = {
 'ok',
}
local function outcome_of(id_3, its_key, policy, rest)
 local target = id_3
 if its_key ~= '' then
  local value_2 = redis.call('HGET', KEYS[3], its_key)
  local expires, holder = 1, ''
  if value_2 then
   expires, holder = struct.unpack('>I6c26', value_2)
  end
  if value_2 and (expires == 0 or expires > now) then
   target = holder
   local find_job_2
   repeat
    local id_4 = target
    if redis.call('HEXISTS', KEYS[1], id_4) == 1 then
     find_job_2 = id_4
     break
    end
    local value_3 = redis.call('HGET', KEYS[6], id_4)
    local batch_2 = value_3 and string.sub(value_3, 1, 1) == 'm' and string.sub(value_3, 2, 27)
    find_job_2 = batch_2 and redis.call('HEXISTS', KEYS[1], batch_2) == 1 and batch_2 or nil
   until true
   if not find_job_2 then
    return 'acked'
   end
  else
   redis.call('ZADD', KEYS[7], 0, ':' .. its_key .. '\t' .. policy .. rest)
   return 'waits'
  end
 elseif not find_job(id_3) then
  return id_time(id_3) > now and 'unknown' or 'gone'
 end
 local found
 repeat
  local id_5 = target
  if redis.call('HEXISTS', KEYS[1], id_5) == 1 then
   found = id_5
   break
  end
  local value_4 = redis.call('HGET', KEYS[6], id_5)
  local batch_3 = value_4 and string.sub(value_4, 1, 1) == 'm' and string.sub(value_4, 2, 27)
  found = batch_3 and redis.call('HEXISTS', KEYS[1], batch_3) == 1 and batch_3 or nil
 until true
 if redis.call('ZSCORE', KEYS[5], found) then
  return 'acked'
 end
 if policy ~= 'w' and redis.call('ZSCORE', KEYS[4], found) then
  return 'dead'
 end
 redis.call('ZADD', KEYS[7], 0, target .. '\t' .. policy .. rest)
 repeat
  local id_6 = found
  local raw = redis.call('HGET', KEYS[2], id_6)
  local value_5 = raw
  if value_5 then
   local is_depended_on
   do
    local raw_2 = raw
    is_depended_on = string.byte(raw_2, 9) >= 4
   end
   value_5 = is_depended_on
  end
  if value_5 then
   break
  end
  if not raw then
   local tries, expires_2, due_ms, options
   do
    local raw_3 = redis.call('HGET', KEYS[1], id_6)
    local bits, tries_2, expires_3, at = struct.unpack('>BHI6', raw_3)
    local due_ms_2, options_2 = nil, ''
    if bits >= 2 then
     due_ms_2, at = struct.unpack('>I6', raw_3, at)
     bits = bits - 2
    end
    if bits == 1 then
     options_2, at = struct.unpack('>Hc0', raw_3, at)
    end
    tries, expires_2, due_ms, options = tries_2, expires_3, due_ms_2, options_2, at
   end
   raw = struct.pack('>I4HHBI6I6I6Hc0Bc0', 0, 0, tries, 0, expires_2, due_ms or id_time(id_6), 0, #options, options, 0, '')
  end
  local run
  do
   local raw_4 = raw
   local attempt, used, tries_3, marks, expires_4, due_ms_3, taken, options_3, consumer, at_2 = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_4)
   run = {
    attempt = attempt,
    used = used,
    tries = tries_3,
    marks = marks % 4,
    depended = marks - marks % 4,
    expires = expires_4,
    due = due_ms_3,
    taken = taken,
    options = options_3,
    consumer = consumer,
    history = string.sub(raw_4, at_2),
   }
  end
  run.depended = 4
  local pack_run
  do
   local run_2 = run
   pack_run = struct.pack('>I4HHBI6I6I6Hc0Bc0', run_2.attempt, run_2.used, math.min(run_2.tries, 65535), run_2.marks + run_2.depended, run_2.expires, run_2.due, run_2.taken, #run_2.options, run_2.options, #run_2.consumer, run_2.consumer) .. run_2.history
  end
  redis.call('HSET', KEYS[2], id_6, pack_run)
 until true
 return 'waits'
end
for i_2 = 2, #ARGV, 5 do
 local its_key_2 = ARGV[i_2 + 1]
 reply[#reply + 1] = outcome_of(ARGV[i_2], its_key_2, ARGV[i_2 + 2], '\t' .. ARGV[i_2 + 3] .. '\t' .. ARGV[i_2 + 4] .. '\t' .. its_key_2)
end
return reply
