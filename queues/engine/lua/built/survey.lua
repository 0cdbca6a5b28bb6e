--{"name": "survey", "purpose": "the reply of stats and whether consumers wait on the queue; records the queue's whole minutes. Bounded as stats is.", "keys": ["jobs", "runs", "ready", "front", "prio", "delayed", "retry", "working", "dead", "completed", "flags", "trimmed", "waiting", "stats", "trend", "blocked", "grouped", "lines", "turns"], "args": ["now_ms", "queue"], "rest": false, "replies": ["ok"]}
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
local function range_ready(first, last)
 local in_front = redis.call('LLEN', KEYS[4])
 if in_front == 0 then
  return redis.call('LRANGE', KEYS[3], first, last)
 end
 local ids = first < in_front and redis.call('LRANGE', KEYS[4], first, last) or {
 }
 if last >= in_front then
  local others = redis.call('LRANGE', KEYS[3], math.max(0, first - in_front), last - in_front)
  for _, id_2 in ipairs(others) do
   ids[#ids + 1] = id_2
  end
 end
 return ids
end
local function oldest_of(ids_2)
 if #ids_2 == 0 then
  return nil
 end
 local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids_2))
 local oldest
 for i_2, id_3 in ipairs(ids_2) do
  local due_ms
  repeat
   local raw_run, raw = raw_runs[i_2], not raw_runs[i_2] and redis.call('HGET', KEYS[1], id_3)
   if raw_run then
    local expires, due_ms_2 = struct.unpack('>I6I6', raw_run, 10)
    due_ms = not (expires > 0 and expires <= now) and due_ms_2 or nil
    break
   end
   if not raw then
    due_ms = nil
    break
   end
   local __2, expires_2, due_at
   do
    local bits, tries, expires_3, at = struct.unpack('>BHI6', raw)
    local due_ms_3, options = nil, ''
    if bits >= 2 then
     due_ms_3, at = struct.unpack('>I6', raw, at)
     bits = bits - 2
    end
    if bits == 1 then
     options, at = struct.unpack('>Hc0', raw, at)
    end
    __2, expires_2, due_at = tries, expires_3, due_ms_3, options, at
   end
   local has_expired
   do
    local expires_4 = expires_2
    has_expired = expires_4 > 0 and expires_4 <= now
   end
   due_ms = not has_expired and (due_at or id_time(id_3)) or nil
  until true
  if due_ms then
   oldest = math.min(oldest or due_ms, due_ms)
  end
 end
 return oldest
end
local function oldest_ready(look_at)
 local range_ready_2
 repeat
  local last_2 = look_at - 1
  local in_front_2 = redis.call('LLEN', KEYS[4])
  if in_front_2 == 0 then
   range_ready_2 = redis.call('LRANGE', KEYS[3], 0, last_2)
   break
  end
  local ids_3 = 0 < in_front_2 and redis.call('LRANGE', KEYS[4], 0, last_2) or {
  }
  if last_2 >= in_front_2 then
   local others_2 = redis.call('LRANGE', KEYS[3], math.max(0, 0 - in_front_2), last_2 - in_front_2)
   for __3, id_4 in ipairs(others_2) do
    ids_3[#ids_3 + 1] = id_4
   end
  end
  range_ready_2 = ids_3
 until true
 local oldest_2 = oldest_of(range_ready_2) or oldest_of(range_ready(look_at, 100 - 1))
 local ids_4, from, band, in_band = {
 }, '-inf', -1, 0
 repeat
  local found = redis.call('ZRANGEBYSCORE', KEYS[5], from, '+inf', 'WITHSCORES', 'LIMIT', 0, 2)
  for i_3 = 1, #found, 2 do
   local its_band = math.floor(tonumber(found[i_3 + 1]) / 17592186044416)
   if its_band ~= band then
    band, in_band = its_band, 0
   end
   in_band = in_band + 1
   ids_4[#ids_4 + 1] = found[i_3]
   from = in_band < 2 and '(' .. found[i_3 + 1] or string.format('%.0f', ((band + 1) * 17592186044416))
   if in_band == 2 then
    break
   end
  end
 until #found == 0
 if redis.call('EXISTS', KEYS[18]) == 1 then
  local format_turn
  do
   local score = -4503599627370496
   format_turn = string.format('%.0f', score)
  end
  for __4, its_key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[19], format_turn, '+inf', 'LIMIT', 0, 16)) do
   for __5, member in ipairs(redis.call('ZRANGE', KEYS[18], '[' .. its_key .. '\0', '(' .. its_key .. '\1', 'BYLEX', 'LIMIT', 0, 1)) do
    ids_4[#ids_4 + 1] = string.sub(member, -26)
   end
  end
 end
 local its_oldest = oldest_of(ids_4)
 return oldest_2 and its_oldest and math.min(oldest_2, its_oldest) or oldest_2 or its_oldest
end
local function is_waited_for()
 local mark = redis.call('ZSCORE', KEYS[13], ARGV[2])
 return mark and tonumber(mark) > now
end
local dropped_by = redis.call('HMGET', KEYS[12], 'age', 'count')
local ready_size
do
 local plain_size
 do
  local tombstones = tonumber(redis.call('HGET', KEYS[11], 't:' .. ARGV[2]) or 0)
  plain_size = redis.call('LLEN', KEYS[3]) + redis.call('LLEN', KEYS[4]) - tombstones + redis.call('ZCARD', KEYS[5])
 end
 ready_size = plain_size + redis.call('ZCARD', KEYS[18])
end
local states = {
 ready_size,
 redis.call('ZCARD', KEYS[6]),
 redis.call('ZCARD', KEYS[7]),
 redis.call('ZCARD', KEYS[8]),
 redis.call('ZCARD', KEYS[9]),
 redis.call('ZCARD', KEYS[10]),
}
local minutes = redis.call('HGETALL', KEYS[14])
local recorded
repeat
 local last_3 = math.floor(now / 60000) - 1
 local before = redis.call('HMGET', KEYS[15], 'm', 'g')
 local done = tonumber(before[1]) or 0
 local jobs_by_state = table.concat(states, ',')
 local changed = (before[2] or '0,0,0,0,0,0') ~= jobs_by_state
 if done >= last_3 or (#minutes == 0 and not changed) then
  recorded = {
  }
  break
 end
 redis.call('HDEL', KEYS[15], 'm')
 if done > 0 then
  for its = math.max(done, last_3 - 180) - 180 + 1, last_3 - 180 do
   redis.call('HDEL', KEYS[15], its)
  end
 end
 local first_2 = math.max(done + 1, last_3 - 10 + 2)
 local counted
 do
  local last_4 = last_3 + 1
  local found_2 = {
  }
  for i_4 = 1, #minutes, 2 do
   local its_2, metric, its_bucket = string.match(minutes[i_4], '^(%d+)(%l)(%d*)$')
   its_2 = tonumber(its_2)
   if its_2 and its_2 >= first_2 and its_2 <= last_4 then
    found_2[its_2] = found_2[its_2] or {
    }
    local counts = found_2[its_2][metric] or {
     total = 0,
     buckets = {
     },
    }
    found_2[its_2][metric] = counts
    counts.total = counts.total + tonumber(minutes[i_4 + 1])
    counts.buckets[#counts.buckets + 1] = {
     tonumber(its_bucket) or 0,
     tonumber(minutes[i_4 + 1]),
    }
   end
  end
  counted = found_2
 end
 local knows = counted[last_3] or (changed and not counted[last_3 + 1])
 local recorded_2 = {
 }
 for its_3 = first_2, last_3 do
  if counted[its_3] or (its_3 == last_3 and knows) then
   local row
   do
    local counts_2, states_2 = counted[its_3] or {
    }, its_3 == last_3 and states or nil
    local row_2 = {
    }
    for metric_2 in string.gmatch('pwrfedx', '.') do
     row_2[#row_2 + 1] = counts_2[metric_2] and counts_2[metric_2].total or ''
    end
    for __6, jobs_in_state in ipairs(states_2 or {
    }) do
     row_2[#row_2 + 1] = jobs_in_state > 0 and jobs_in_state or ''
    end
    if not states_2 then
     row_2[#row_2 + 1] = '-,,,,,'
    end
    repeat
     local counts_3 = counts_2.w
     if not counts_3 then
      row_2[#row_2 + 1] = ',,'
      break
     end
     table.sort(counts_3.buckets, function(one, other)
      return one[1] < other[1]
     end)
     for __7, percent in ipairs({
      50,
      95,
      99,
     }) do
      local seen, at_2 = 0, 0
      repeat
       at_2 = at_2 + 1
       seen = seen + counts_3.buckets[at_2][2]
      until seen * 100 >= counts_3.total * percent or at_2 == #counts_3.buckets
      row_2[#row_2 + 1] = counts_3.buckets[at_2][1] + 1
     end
    until true
    repeat
     local counts_4 = counts_2.r
     if not counts_4 then
      row_2[#row_2 + 1] = ',,'
      break
     end
     table.sort(counts_4.buckets, function(one_2, other_2)
      return one_2[1] < other_2[1]
     end)
     for __8, percent_2 in ipairs({
      50,
      95,
      99,
     }) do
      local seen_2, at_3 = 0, 0
      repeat
       at_3 = at_3 + 1
       seen_2 = seen_2 + counts_4.buckets[at_3][2]
      until seen_2 * 100 >= counts_4.total * percent_2 or at_3 == #counts_4.buckets
      row_2[#row_2 + 1] = counts_4.buckets[at_3][1] + 1
     end
    until true
    row = table.concat(row_2, ',')
   end
   redis.call('HSET', KEYS[15], its_3, row)
   recorded_2[#recorded_2 + 1] = its_3
   recorded_2[#recorded_2 + 1] = row
  end
 end
 redis.call('HSET', KEYS[15], 'm', last_3)
 if knows then
  redis.call('HSET', KEYS[15], 'g', jobs_by_state)
 end
 redis.call('EXPIRE', KEYS[15], 180 * 60)
 recorded = recorded_2
until true
return {
 'ok',
 now,
 redis.call('HEXISTS', KEYS[11], 'p:' .. ARGV[2]),
 states[1],
 states[2],
 states[3],
 states[4],
 states[5],
 states[6],
 redis.call('ZCARD', KEYS[16]),
 redis.call('ZCARD', KEYS[17]),
 states[1] > 0 and oldest_ready(3) or -1,
 tonumber(dropped_by[1] or 0),
 tonumber(dropped_by[2] or 0),
 minutes,
 is_waited_for() and 1 or 0,
 recorded,
}
