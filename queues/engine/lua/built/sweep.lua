--{"name": "sweep", "purpose": "one visit to a queue: deletes jobs that have expired (edge N), looks which ones expire next, takes tombstones", "keys": ["jobs", "runs", "ready", "front", "prio", "priorities", "delayed", "retry", "expiring", "staged", "keys", "flags", "due", "ends", "sweeps", "queues", "stats", "active", "events", "counters", "blocked", "waits", "outgoing", "lines", "turns", "shares"], "args": ["now_ms", "queue", "cap", "expire", "look"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local function scan_at(horizon, size)
 return size > 500 and horizon - 10000 or tonumber(horizon)
end
local function run_attempt(raw)
 return (struct.unpack('>I4', raw))
end
local function key_end(place)
 return place and string.find(place, '%z')
end
local function expire_known(most)
 local found = redis.call('ZRANGEBYSCORE', KEYS[9], '-inf', now, 'LIMIT', 0, most)
 local ids, cost = {
 }, 0
 for _, id in ipairs(found) do
  if cost >= most then
   break
  end
  ids[#ids + 1] = id
  cost = cost + 1 + math.floor(redis.call('HSTRLEN', KEYS[1], id) / 16384)
 end
 repeat
  if #ids == 0 then
   break
  end
  local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids))
  local blocks = redis.call('EXISTS', KEYS[21]) == 1 and redis.call('ZMSCORE', KEYS[21], unpack(ids)) or {
  }
  redis.call('ZREM', KEYS[9], unpack(ids))
  local elsewhere = redis.call('ZREM', KEYS[7], unpack(ids)) + redis.call('ZREM', KEYS[8], unpack(ids)) + redis.call('ZREM', KEYS[5], unpack(ids))
  if #blocks > 0 then
   elsewhere = elsewhere + redis.call('ZREM', KEYS[21], unpack(ids))
  end
  local places = redis.call('HMGET', KEYS[6], unpack(ids))
  do
   redis.call('HDEL', KEYS[1], unpack(ids))
   redis.call('HDEL', KEYS[2], unpack(ids))
   redis.call('HDEL', KEYS[6], unpack(ids))
  end
  for i, id_2 in ipairs(ids) do
   do
    local attempt = raw_runs[i] and run_attempt(raw_runs[i]) or ''
    do
     local line = 'expired' .. '\t' .. id_2 .. '\t' .. attempt .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. ''
     event_lines[#event_lines + 1] = line
    end
   end
  end
  do
   for i_2 = 1, #ids do
    local raw_2 = raw_runs[i_2]
    if raw_2 and (string.byte(raw_2, 9) >= 4) then
     do
      local id_3, options = ids[i_2], (struct.unpack('>Hc0', raw_2, 28))
      do
       local message
       do
        local key_of
        repeat
         if options == '' then
          key_of = ''
          break
         end
         local __2, __3, __4, __5, its_key = struct.unpack('>I6BI6I6Hc0', options)
         key_of = its_key
        until true
        message = 'ended\t' .. ARGV[2] .. '\t' .. id_3 .. '\t' .. 'expired' .. '\t' .. key_of
       end
       redis.call('ZADD', KEYS[23], now, message)
      end
     end
    end
   end
  end
  for i_3, id_4 in ipairs(ids) do
   if blocks[i_3] then
    do
     do
      local message_2 = ('waits\t' .. ARGV[2] .. '\t' .. id_4)
      redis.call('ZADD', KEYS[23], now, message_2)
     end
    end
   elseif key_end(places[i_3]) and redis.call('ZREM', KEYS[24], places[i_3] .. id_4) == 1 then
    repeat
     local its_key_2 = string.sub(places[i_3], 1, key_end(places[i_3]) - 1)
     if #redis.call('ZRANGE', KEYS[24], '[' .. its_key_2 .. '\0', '(' .. its_key_2 .. '\1', 'BYLEX', 'LIMIT', 0, 1) > 0 then
      break
     end
     local virtual, in_work, start, tat
     do
      local raw_3 = redis.call('HMGET', KEYS[26], '', its_key_2)
      local virtual_2
      repeat
       local raw_4 = raw_3[1]
       if not raw_4 then
        virtual_2 = 0, 0, 0
        break
       end
       virtual_2 = struct.unpack('>ddd', raw_4)
      until true
      local in_work_2, start_2, tat_2
      repeat
       local raw_5 = raw_3[2]
       if not raw_5 then
        in_work_2, start_2, tat_2 = 0, 0, 0
        break
       end
       in_work_2, start_2, tat_2 = struct.unpack('>I4dd', raw_5)
      until true
      virtual, in_work, start, tat = virtual_2, in_work_2, start_2, tat_2
     end
     repeat
      local turn_of
      do
       local score = tonumber(redis.call('ZSCORE', KEYS[25], its_key_2) or nil)
       turn_of = score and score >= -4503599627370496 and score or nil
      end
      local virtual_3, in_work_3, start_3, tat_3, turn = virtual, in_work, math.max(start, turn_of or 0), tat, nil
      redis.call('HDEL', KEYS[26], its_key_2)
      if not turn then
       redis.call('ZREM', KEYS[25], its_key_2)
      end
      if not turn and in_work_3 == 0 then
       local until_ms
       do
        local until_ms_2 = math.max(start_3 > virtual_3 and now + 10000 or 0, math.ceil(tat_3 / 1000))
        until_ms = until_ms_2 > now and until_ms_2 or nil
       end
       if not until_ms then
        break
       end
       turn = until_ms - 9007199254740992
       do
        local ms = until_ms
        redis.call('ZADD', KEYS[15], 'LT', math.min(ms, now + 600000), ARGV[2])
       end
      end
      if turn then
       redis.call('ZADD', KEYS[25], string.format('%.0f', turn), its_key_2)
      end
      redis.call('HSET', KEYS[26], its_key_2, struct.pack('>I4dd', in_work_3, start_3, tat_3))
     until true
    until true
    elsewhere = elsewhere + 1
   end
  end
  if #ids > elsewhere then
   do
    local change = #ids - elsewhere
    local field = 't:' .. ARGV[2]
    local left = redis.call('HINCRBY', KEYS[12], field, change)
    if left > 0 and change > 0 then
     local in_front = redis.call('LLEN', KEYS[4])
     if left >= in_front + redis.call('LLEN', KEYS[3]) then
      redis.call('DEL', KEYS[3], KEYS[4])
      left = 0
     else
      local list = in_front > 0 and KEYS[4] or KEYS[3]
      for __6 = 1, 8 do
       local id_5 = redis.call('LINDEX', list, 0)
       if left == 0 or not id_5 or redis.call('HEXISTS', KEYS[1], id_5) == 1 then
        break
       end
       redis.call('LPOP', list)
       left = redis.call('HINCRBY', KEYS[12], field, -1)
      end
      if left > 500 then
       do
        local ms_2 = now
        redis.call('ZADD', KEYS[15], 'LT', math.min(ms_2, now + 600000), ARGV[2])
       end
      end
     end
    end
    if left <= 0 then
     redis.call('HDEL', KEYS[12], field)
    end
   end
  end
  do
   local count = #ids
   local minute = math.floor(now / 60000)
   local field_2 = string.format('%d', minute) .. 'x'
   if redis.call('HINCRBY', KEYS[17], field_2, count) == count then
    repeat
     if redis.call('HGET', KEYS[17], 'm') == tostring(minute) then
      break
     end
     for __7, field_3 in ipairs(redis.call('HKEYS', KEYS[17])) do
      local its = tonumber(string.match(field_3, '^%d+'))
      if its and its <= minute - 10 then
       redis.call('HDEL', KEYS[17], field_3)
      end
     end
     redis.call('HSET', KEYS[17], 'm', minute)
     redis.call('EXPIRE', KEYS[17], 10 * 60)
     redis.call('ZREMRANGEBYSCORE', KEYS[18], '-inf', minute - 10)
     redis.call('ZADD', KEYS[18], minute, ARGV[2])
     redis.call('EXPIRE', KEYS[18], 10 * 60)
    until true
   end
  end
 until true
 return #ids, #ids < #found or #found == most
end
local function should_compact()
 if redis.call('EXISTS', KEYS[4]) == 1 then
  return true
 end
 local tombstones = tonumber(redis.call('HGET', KEYS[12], 't:' .. ARGV[2]) or 0)
 return tombstones > 500 and 2 * tombstones > redis.call('LLEN', KEYS[3])
end
local function rank_behind(set, score_2, id_6)
 local text = string.format('%.0f', score_2)
 local low, high = redis.call('ZCOUNT', set, '-inf', '(' .. text), redis.call('ZCOUNT', set, '-inf', text)
 while low < high do
  local middle = math.floor((low + high) / 2)
  if redis.call('ZRANGE', set, middle, middle)[1] > id_6 then
   high = middle
  else
   low = middle + 1
  end
 end
 return low
end
local function to_hex(text_2)
 return (string.gsub(text_2, '.', function(character)
  return string.format('%02x', string.byte(character))
 end))
end
local NEXT_SEGMENT = {
 delayed = 'retry',
 retry = 'prio',
 prio = 'lines',
 lines = 'list',
}
local function next_of_set(set_2, score_3, id_7, most_2, bound)
 local start_4 = id_7 ~= '' and rank_behind(set_2, score_3, id_7) or 0
 local found_2 = redis.call('ZRANGE', set_2, start_4, start_4 + most_2 - 1, 'WITHSCORES')
 local ids_2 = {
 }
 for i_4 = 1, #found_2, 2 do
  local its_score = tonumber(found_2[i_4 + 1])
  if its_score >= bound then
   return ids_2, score_3, its_score
  end
  ids_2[#ids_2 + 1] = found_2[i_4]
  score_3 = its_score
 end
 return ids_2, score_3
end
local expired, is_more = expire_known(tonumber(ARGV[4]))
if expired == 0 then
 local horizon_2 = tonumber(redis.call('HGET', KEYS[12], 'h:' .. ARGV[2]) or nil)
 if (redis.call('HEXISTS', KEYS[12], 's:' .. ARGV[2]) == 1) or (horizon_2 and scan_at(horizon_2, redis.call('HLEN', KEYS[1])) <= now and redis.call('EXISTS', KEYS[4]) == 0) then
  do
   local most_3 = tonumber(ARGV[5])
   local horizon_3, segment, position, id_8
   repeat
    local state = redis.call('HMGET', KEYS[12], 'h:' .. ARGV[2], 's:' .. ARGV[2])
    if state[2] then
     local segment_2, position_2, id_9 = string.match(state[2], '^(%a+) (%d+) (%w*)$')
     horizon_3, segment, position, id_8 = tonumber(state[1]), segment_2, tonumber(position_2), id_9
     break
    end
    horizon_3, segment, position, id_8 = now + math.max(600000, redis.call('HLEN', KEYS[1]) * 1), 'delayed', 0, ''
   until true
   local is_first = segment == 'delayed' and id_8 == ''
   redis.call('HDEL', KEYS[12], 's:' .. ARGV[2], 'h:' .. ARGV[2])
   local earliest
   while segment and most_3 > 0 do
    local few, ids_3, due_behind, last_member = math.min(most_3, 100), nil, nil, nil
    if segment == 'list' then
     do
      local result
      do
       local index = position
       local last = redis.call('LLEN', KEYS[3]) - 1 - index
       result = last >= 0 and redis.call('LRANGE', KEYS[3], math.max(0, last - few + 1), last) or {
       }
      end
      ids_3 = result
     end
     position = position + #ids_3
    elseif segment == 'lines' then
     local members
     do
      local value = id_8 ~= ''
      if value then
       local from_hex
       do
        local digits = id_8
        from_hex = (string.gsub(digits, '%x%x', function(pair)
         return string.char(tonumber(pair, 16))
        end))
       end
       value = from_hex
      end
      local member = value
      members = redis.call('ZRANGEBYLEX', KEYS[24], member and '(' .. member or '-', '+', 'LIMIT', 0, few)
     end
     ids_3 = {
     }
     for i_5, member_2 in ipairs(members) do
      ids_3[i_5] = string.sub(member_2, -26)
     end
     last_member = members[#members]
    elseif segment == 'prio' then
     ids_3, position = next_of_set(KEYS[5], position, id_8, few, math.huge)
    else
     ids_3, position, due_behind = next_of_set(segment == 'retry' and KEYS[8] or KEYS[7], position, id_8, few, horizon_3)
    end
    local cost_2, its_earliest
    repeat
     local ids_4, horizon_4 = ids_3, horizon_3
     if #ids_4 == 0 then
      cost_2, its_earliest = 0, nil
      break
     end
     local raw_runs_2 = redis.call('HMGET', KEYS[2], unpack(ids_4))
     local coming, earliest_2, size_2 = {
     }, nil, 0
     for i_6, id_10 in ipairs(ids_4) do
      size_2 = size_2 + #(raw_runs_2[i_6] or '')
      local expiry_of
      repeat
       local raw_run = raw_runs_2[i_6]
       if raw_run then
        expiry_of = (struct.unpack('>I6', raw_run, 10))
        break
       end
       local raw_6 = redis.call('HGET', KEYS[1], id_10)
       expiry_of = raw_6 and (struct.unpack('>I6', raw_6, 4))
      until true
      local expires = expiry_of or 0
      if expires > 0 and expires < horizon_4 then
       coming[#coming + 1] = expires
       coming[#coming + 1] = id_10
      elseif expires > 0 then
       earliest_2 = math.min(earliest_2 or expires, expires)
      end
     end
     if #coming > 0 then
      redis.call('ZADD', KEYS[9], unpack(coming))
     end
     cost_2, its_earliest = #ids_4 + math.floor(size_2 / 4096), earliest_2
    until true
    do
     local ms_3 = its_earliest
     earliest = ms_3 and math.min(earliest or ms_3, ms_3) or earliest
    end
    do
     local ms_4 = due_behind
     earliest = ms_4 and math.min(earliest or ms_4, ms_4) or earliest
    end
    most_3 = most_3 - cost_2
    id_8 = segment == 'list' and '' or last_member and to_hex(last_member) or ids_3[#ids_3]
    if #ids_3 < few then
     segment, position, id_8 = NEXT_SEGMENT[segment], 0, ''
    end
   end
   if segment then
    redis.call('HSET', KEYS[12], 'h:' .. ARGV[2], horizon_3, 's:' .. ARGV[2], string.format('%s %.0f %s', segment, position, id_8))
   elseif not is_first then
    redis.call('HSET', KEYS[12], 'h:' .. ARGV[2], horizon_3)
   elseif earliest then
    redis.call('HSET', KEYS[12], 'h:' .. ARGV[2], earliest)
   end
  end
  expired, is_more = expire_known(tonumber(ARGV[4]))
 elseif should_compact() then
  do
   local most_4 = tonumber(ARGV[5])
   local ids_5 = redis.call('LPOP', KEYS[3], most_4) or {
   }
   local alive = {
   }
   for __8, id_11 in ipairs(ids_5) do
    if redis.call('HEXISTS', KEYS[1], id_11) == 1 then
     alive[#alive + 1] = id_11
    end
   end
   if #alive > 0 then
    redis.call('RPUSH', KEYS[4], unpack(alive))
   end
   if #alive < #ids_5 then
    do
     local change_2 = #alive - #ids_5
     local field_4 = 't:' .. ARGV[2]
     local left_2 = redis.call('HINCRBY', KEYS[12], field_4, change_2)
     if left_2 > 0 and change_2 > 0 then
      local in_front_2 = redis.call('LLEN', KEYS[4])
      if left_2 >= in_front_2 + redis.call('LLEN', KEYS[3]) then
       redis.call('DEL', KEYS[3], KEYS[4])
       left_2 = 0
      else
       local list_2 = in_front_2 > 0 and KEYS[4] or KEYS[3]
       for __9 = 1, 8 do
        local id_12 = redis.call('LINDEX', list_2, 0)
        if left_2 == 0 or not id_12 or redis.call('HEXISTS', KEYS[1], id_12) == 1 then
         break
        end
        redis.call('LPOP', list_2)
        left_2 = redis.call('HINCRBY', KEYS[12], field_4, -1)
       end
       if left_2 > 500 then
        do
         local ms_5 = now
         redis.call('ZADD', KEYS[15], 'LT', math.min(ms_5, now + 600000), ARGV[2])
        end
       end
      end
     end
     if left_2 <= 0 then
      redis.call('HDEL', KEYS[12], field_4)
     end
    end
   end
   if redis.call('EXISTS', KEYS[3]) == 0 and redis.call('EXISTS', KEYS[4]) == 1 then
    redis.call('RENAME', KEYS[4], KEYS[3])
   end
  end
 end
end
if expired > 0 then
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HDEL', KEYS[12], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[13], ARGV[2])
  redis.call('ZREM', KEYS[14], ARGV[2])
  if redis.call('EXISTS', KEYS[11]) == 0 and redis.call('HEXISTS', KEYS[12], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[16], ARGV[2])
  end
 until true
end
local dropped, next_at
repeat
 local state_2 = redis.call('HGET', KEYS[12], 'k:' .. ARGV[2])
 if not state_2 then
  dropped, next_at = 0, nil
  break
 end
 local look_at, cursor, earliest_3 = string.match(state_2, '^(%d+) (%d+) (%d+)$')
 look_at, earliest_3 = tonumber(look_at), tonumber(earliest_3)
 if look_at > now then
  dropped, next_at = 0, look_at
  break
 end
 local found_3 = redis.call('HSCAN', KEYS[11], cursor, 'COUNT', 500)
 local dropped_2 = 0
 for i_7 = 1, #found_3[2], 2 do
  local value_2 = found_3[2][i_7 + 1]
  local expires_2 = struct.unpack('>I6', value_2)
  local is_by_job = #value_2 > 32
  if expires_2 > 0 and expires_2 <= now or is_by_job and redis.call('HEXISTS', KEYS[1], string.sub(value_2, 7, 32)) == 0 then
   redis.call('HDEL', KEYS[11], found_3[2][i_7])
   dropped_2 = dropped_2 + 1
  elseif is_by_job then
   earliest_3 = math.min(earliest_3 > 0 and earliest_3 or math.huge, now + 600000)
  elseif expires_2 > 0 then
   earliest_3 = earliest_3 > 0 and math.min(earliest_3, expires_2) or expires_2
  end
 end
 redis.call('HDEL', KEYS[12], 'k:' .. ARGV[2])
 if found_3[1] ~= '0' then
  redis.call('HSET', KEYS[12], 'k:' .. ARGV[2], string.format('%.0f %s %.0f', now, found_3[1], earliest_3))
  dropped, next_at = dropped_2, now
  break
 elseif earliest_3 == 0 then
  dropped, next_at = dropped_2, nil
  break
 end
 look_at = redis.call('HLEN', KEYS[11]) <= 500 and earliest_3 or math.max(earliest_3, now + 600000)
 redis.call('HSET', KEYS[12], 'k:' .. ARGV[2], string.format('%.0f 0 0', look_at))
 dropped, next_at = dropped_2, look_at
until true
if dropped > 0 then
 repeat
  if redis.call('EXISTS', KEYS[1]) == 1 then
   break
  end
  redis.call('DEL', KEYS[3], KEYS[4])
  redis.call('HDEL', KEYS[12], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
  redis.call('ZREM', KEYS[13], ARGV[2])
  redis.call('ZREM', KEYS[14], ARGV[2])
  if redis.call('EXISTS', KEYS[11]) == 0 and redis.call('HEXISTS', KEYS[12], 'p:' .. ARGV[2]) == 0 then
   redis.call('ZREM', KEYS[16], ARGV[2])
  end
 until true
end
do
 local ms_6 = (is_more or (redis.call('HEXISTS', KEYS[12], 's:' .. ARGV[2]) == 1) or should_compact()) and now or nil
 if ms_6 then
  next_at = math.min(next_at or ms_6, ms_6)
 end
end
do
 local ms_7
 do
  local head = redis.call('ZRANGE', KEYS[9], 0, 0, 'WITHSCORES')
  ms_7 = head[2] and tonumber(head[2])
 end
 if ms_7 then
  next_at = math.min(next_at or ms_7, ms_7)
 end
end
do
 local ms_8
 do
  local old = redis.call('ZRANGEBYSCORE', KEYS[10], '-inf', now - 60000, 'LIMIT', 0, 4)
  if #old > 0 then
   repeat
    local stale = {
    }
    for i_8, score_4 in ipairs(redis.call('ZMSCORE', KEYS[10], unpack(old))) do
     if score_4 then
      stale[#stale + 1] = old[i_8]
     end
    end
    if #stale == 0 then
     break
    end
    redis.call('HDEL', KEYS[1], unpack(stale))
    redis.call('HDEL', KEYS[2], unpack(stale))
    redis.call('HDEL', KEYS[6], unpack(stale))
    for __10, id_13 in ipairs(redis.call('EXISTS', KEYS[22]) == 1 and stale or {
    }) do
     redis.call('ZREMRANGEBYLEX', KEYS[22], '[' .. id_13 .. '\t', '(' .. id_13 .. '\n')
    end
    redis.call('ZREM', KEYS[10], unpack(stale))
    repeat
     if redis.call('EXISTS', KEYS[1]) == 1 then
      break
     end
     redis.call('DEL', KEYS[3], KEYS[4])
     redis.call('HDEL', KEYS[12], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
     redis.call('ZREM', KEYS[13], ARGV[2])
     redis.call('ZREM', KEYS[14], ARGV[2])
     if redis.call('EXISTS', KEYS[11]) == 0 and redis.call('HEXISTS', KEYS[12], 'p:' .. ARGV[2]) == 0 then
      redis.call('ZREM', KEYS[16], ARGV[2])
     end
    until true
   until true
  end
  local head_2 = redis.call('ZRANGE', KEYS[10], 0, 0, 'WITHSCORES')
  ms_8 = head_2[2] and head_2[2] + 60000
 end
 if ms_8 then
  next_at = math.min(next_at or ms_8, ms_8)
 end
end
do
 local ms_9
 repeat
  local most_5 = tonumber(ARGV[5])
  local gone = redis.call('ZRANGEBYSCORE', KEYS[25], '-inf', string.format('%.0f', (now - 9007199254740992)), 'LIMIT', 0, most_5)
  if #gone > 0 then
   redis.call('ZREM', KEYS[25], unpack(gone))
   redis.call('HDEL', KEYS[26], unpack(gone))
  end
  local clock = redis.call('HGET', KEYS[26], '')
  if not clock then
   ms_9 = nil
   break
  end
  local next_at_2 = now + 10000
  if redis.call('HLEN', KEYS[26]) == 1 and redis.call('EXISTS', KEYS[25]) == 0 then
   local __11, __12, tat_4
   repeat
    if not clock then
     __11, __12, tat_4 = 0, 0, 0
     break
    end
    __11, __12, tat_4 = struct.unpack('>ddd', clock)
   until true
   next_at_2 = math.ceil(tat_4 / 1000)
   if next_at_2 <= now then
    redis.call('HDEL', KEYS[26], '')
    ms_9 = nil
    break
   end
  end
  ms_9 = #gone == most_5 and now or next_at_2
 until true
 if ms_9 then
  next_at = math.min(next_at or ms_9, ms_9)
 end
end
local horizon_5 = tonumber(redis.call('HGET', KEYS[12], 'h:' .. ARGV[2]) or nil)
do
 local value_3 = horizon_5
 if value_3 then
  local scan_at_2
  do
   local size_3 = redis.call('HLEN', KEYS[1])
   scan_at_2 = size_3 > 500 and horizon_5 - 10000 or tonumber(horizon_5)
  end
  value_3 = scan_at_2
 end
 local ms_10 = value_3
 if ms_10 then
  next_at = math.min(next_at or ms_10, ms_10)
 end
end
do
 local ms_11 = tonumber(redis.call('HGET', KEYS[12], 't:' .. ARGV[2]) or 0) > 500 and now + 10000 or nil
 if ms_11 then
  next_at = math.min(next_at or ms_11, ms_11)
 end
end
redis.call('ZREM', KEYS[15], ARGV[2])
if next_at then
 do
  local ms_12 = next_at
  redis.call('ZADD', KEYS[15], 'LT', math.min(ms_12, now + 600000), ARGV[2])
 end
end
repeat
 local total = #event_lines
 local most_6 = tonumber(ARGV[3])
 if total == 0 or most_6 == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[19], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 redis.call('HINCRBY', KEYS[20], math.floor(now / 86400000), total)
 local held = redis.call('HINCRBY', KEYS[20], 'events_bytes', added)
 local full = most_6 < 4 * 1048576 and most_6 / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[19], held)
 end
 if held > most_6 / 2 then
  most_6 = tonumber(redis.call('HGET', KEYS[20], 'events_most') or most_6)
 end
 if held > most_6 then
  do
   local most_7, added_2 = most_6 - math.floor(most_6 / 64), added
   local dropped_3, freed, entries, from = 0, 0, 0, '-'
   repeat
    local found_4 = redis.call('XRANGE', KEYS[19], from, '+', 'COUNT', 100)
    for __13, entry in ipairs(found_4) do
     if held - freed <= most_7 then
      break
     end
     local fields = entry[2]
     dropped_3 = dropped_3 + tonumber(fields[6])
     local event_bytes
     do
      local place_2, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place_2 + #lines_2))
     end
     freed = freed + event_bytes
     entries = entries + 1
     from = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_7 or #found_4 < 100
   redis.call('XTRIM', KEYS[19], 'MAXLEN', redis.call('XLEN', KEYS[19]) - entries)
   redis.call('HINCRBY', KEYS[20], 'events_bytes', -freed)
   local known = redis.call('HMGET', KEYS[20], 'events_dropped', 'events_dropped_at')
   if known[1] and now - tonumber(known[2] or 0) >= 86400000 then
    redis.call('HSET', KEYS[20], 'events_dropped_before', known[1])
   end
   redis.call('HINCRBY', KEYS[20], 'events_dropped', dropped_3)
   redis.call('HSET', KEYS[20], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 expired,
 dropped,
 next_at and next_at <= now and 1 or 0,
}
