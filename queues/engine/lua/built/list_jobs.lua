--{"name": "list_jobs", "purpose": "a page of the jobs in one state, in their order: next to be delivered, due, or ended first; or the other way.", "keys": ["jobs", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "working", "dead", "completed", "blocked", "grouped", "lines"], "args": ["now_ms", "state", "after", "limit", "preview", "budget", "latest"], "rest": false, "replies": ["page"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function find_state(id)
 for name, set in pairs({
  working = KEYS[10],
  delayed = KEYS[8],
  retry = KEYS[9],
  dead = KEYS[11],
  completed = KEYS[12],
  blocked = KEYS[13],
  grouped = KEYS[14],
 }) do
  local score = redis.call('ZSCORE', set, id)
  if score then
   return name, score
  end
 end
 return 'ready', ''
end
local function look(id_2, preview, known, set_2, raw)
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
  return nil
 end
 local state, score_2 = known, set_2 and redis.call('ZSCORE', set_2, id_2) or ''
 if not known then
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
  return nil
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
  local place = redis.call('HGET', KEYS[7], id_2)
  local zero = (place and string.find(place, '%z'))
  if zero then
   priority_of = 100 - string.byte(place, zero + 1)
   break
  end
  priority_of = tonumber(place or 0)
 until true
 return {
  id_2,
  state,
  score_2,
  raw,
  raw_run or '',
  priority_of,
  redis.call('HEXISTS', KEYS[3], id_2) == 1 and redis.call('HSTRLEN', KEYS[3], id_2) or -1,
  size,
 }
end
local walk_left = 0
local walk_place = ''
local function show(ids, name_2, place_of, visit)
 for i, id_3 in ipairs(ids) do
  if walk_left == 0 or not visit(id_3) then
   return true
  end
  walk_left = walk_left - 1
  walk_place = name_2 .. ':' .. place_of(i) .. ':' .. id_3
 end
 return false
end
local function rank_behind(set_3, score_3, id_4)
 local text = string.format('%.0f', score_3)
 local low, high = redis.call('ZCOUNT', set_3, '-inf', '(' .. text), redis.call('ZCOUNT', set_3, '-inf', text)
 while low < high do
  local middle = math.floor((low + high) / 2)
  if redis.call('ZRANGE', set_3, middle, middle)[1] > id_4 then
   high = middle
  else
   low = middle + 1
  end
 end
 return low
end
local function walk_zset(name_3, set_4, start, stop, visit_2)
 while start < stop do
  local found = redis.call('ZRANGE', set_4, start, math.min(start + 100, stop) - 1, 'WITHSCORES')
  local ids_2 = {
  }
  for i_2 = 1, #found, 2 do
   ids_2[#ids_2 + 1] = found[i_2]
  end
  if show(ids_2, name_3, function(i_3)
   return string.format('%.0f', tonumber(found[2 * i_3]))
  end, visit_2) then
   return true
  end
  start = start + 100
 end
 return false
end
local function rank_at(set_5, score_4, id_5)
 local rank
 do
  local text_2 = string.format('%.0f', score_4)
  local low_2, high_2 = redis.call('ZCOUNT', set_5, '-inf', '(' .. text_2), redis.call('ZCOUNT', set_5, '-inf', text_2)
  while low_2 < high_2 do
   local middle_2 = math.floor((low_2 + high_2) / 2)
   if redis.call('ZRANGE', set_5, middle_2, middle_2)[1] > id_5 then
    high_2 = middle_2
   else
    low_2 = middle_2 + 1
   end
  end
  rank = low_2
 end
 return rank > 0 and redis.call('ZRANGE', set_5, rank - 1, rank - 1)[1] == id_5 and rank - 1 or rank
end
local function walk_zset_back(name_4, set_6, start_2, stop_2, visit_3)
 while stop_2 > start_2 do
  local first = math.max(start_2, stop_2 - 100)
  local found_2 = redis.call('ZRANGE', set_6, first, stop_2 - 1, 'WITHSCORES')
  local ids_3, scores = {
  }, {
  }
  for i_4 = #found_2 - 1, 1, -2 do
   ids_3[#ids_3 + 1], scores[#scores + 1] = found_2[i_4], found_2[i_4 + 1]
  end
  if show(ids_3, name_4, function(i_5)
   return string.format('%.0f', tonumber(scores[i_5]))
  end, visit_3) then
   return true
  end
  stop_2 = first
 end
 return false
end
local function index_behind(index, id_6)
 local range_ready
 repeat
  local in_front = redis.call('LLEN', KEYS[5])
  if in_front == 0 then
   range_ready = redis.call('LRANGE', KEYS[4], index, index)
   break
  end
  local ids_4 = index < in_front and redis.call('LRANGE', KEYS[5], index, index) or {
  }
  if index >= in_front then
   local others = redis.call('LRANGE', KEYS[4], math.max(0, index - in_front), index - in_front)
   for __5, id_7 in ipairs(others) do
    ids_4[#ids_4 + 1] = id_7
   end
  end
  range_ready = ids_4
 until true
 if range_ready[1] == id_6 then
  return index + 1
 end
 local at_2 = redis.call('LPOS', KEYS[5], id_6, 'MAXLEN', 10000)
 if at_2 then
  return at_2 + 1
 end
 at_2 = redis.call('LPOS', KEYS[4], id_6, 'MAXLEN', 10000)
 if at_2 then
  return at_2 + redis.call('LLEN', KEYS[5]) + 1
 end
 return index < 10000 / 2 and 0 or index
end
local function walk_list(start_3, visit_4)
 repeat
  local ids_5
  repeat
   local first_2, last = start_3, start_3 + 100 - 1
   local in_front_2 = redis.call('LLEN', KEYS[5])
   if in_front_2 == 0 then
    ids_5 = redis.call('LRANGE', KEYS[4], first_2, last)
    break
   end
   local ids_6 = first_2 < in_front_2 and redis.call('LRANGE', KEYS[5], first_2, last) or {
   }
   if last >= in_front_2 then
    local others_2 = redis.call('LRANGE', KEYS[4], math.max(0, first_2 - in_front_2), last - in_front_2)
    for __6, id_8 in ipairs(others_2) do
     ids_6[#ids_6 + 1] = id_8
    end
   end
   ids_5 = ids_6
  until true
  if show(ids_5, 'list', function(i_6)
   return start_3 + i_6 - 1
  end, visit_4) then
   return true
  end
  start_3 = start_3 + #ids_5
 until #ids_5 == 0
 return false
end
local function index_at(index_2, id_9)
 local range_ready_2
 repeat
  local in_front_3 = redis.call('LLEN', KEYS[5])
  if in_front_3 == 0 then
   range_ready_2 = redis.call('LRANGE', KEYS[4], index_2, index_2)
   break
  end
  local ids_7 = index_2 < in_front_3 and redis.call('LRANGE', KEYS[5], index_2, index_2) or {
  }
  if index_2 >= in_front_3 then
   local others_3 = redis.call('LRANGE', KEYS[4], math.max(0, index_2 - in_front_3), index_2 - in_front_3)
   for __7, id_10 in ipairs(others_3) do
    ids_7[#ids_7 + 1] = id_10
   end
  end
  range_ready_2 = ids_7
 until true
 if range_ready_2[1] == id_9 then
  return index_2
 end
 local at_3 = redis.call('LPOS', KEYS[4], id_9, 'RANK', -1, 'MAXLEN', 10000)
 if at_3 then
  return at_3 + redis.call('LLEN', KEYS[5])
 end
 return redis.call('LPOS', KEYS[5], id_9, 'MAXLEN', 10000) or index_2
end
local function walk_list_back(stop_3, visit_5)
 while stop_3 > 0 do
  local first_3 = math.max(0, stop_3 - 100)
  local range_ready_3
  repeat
   local last_2 = stop_3 - 1
   local in_front_4 = redis.call('LLEN', KEYS[5])
   if in_front_4 == 0 then
    range_ready_3 = redis.call('LRANGE', KEYS[4], first_3, last_2)
    break
   end
   local ids_8 = first_3 < in_front_4 and redis.call('LRANGE', KEYS[5], first_3, last_2) or {
   }
   if last_2 >= in_front_4 then
    local others_4 = redis.call('LRANGE', KEYS[4], math.max(0, first_3 - in_front_4), last_2 - in_front_4)
    for __8, id_11 in ipairs(others_4) do
     ids_8[#ids_8 + 1] = id_11
    end
   end
   range_ready_3 = ids_8
  until true
  local found_3, ids_9 = range_ready_3, {
  }
  for i_7 = #found_3, 1, -1 do
   ids_9[#ids_9 + 1] = found_3[i_7]
  end
  local last_3 = first_3 + #found_3
  if show(ids_9, 'list', function(i_8)
   return last_3 - i_8
  end, visit_5) then
   return true
  end
  stop_3 = first_3
 end
 return false
end
local function from_hex(digits)
 return (string.gsub(digits, '%x%x', function(pair)
  return string.char(tonumber(pair, 16))
 end))
end
local function walk_lines(member, visit_6)
 repeat
  local members
  do
   local member_2 = member
   members = redis.call('ZRANGEBYLEX', KEYS[15], member_2 and '(' .. member_2 or '-', '+', 'LIMIT', 0, 100)
  end
  for __9, its_member in ipairs(members) do
   if walk_left == 0 or not visit_6(string.sub(its_member, -26)) then
    return true
   end
   walk_left = walk_left - 1
   local to_hex
   do
    to_hex = (string.gsub(its_member, '.', function(character)
     return string.format('%02x', string.byte(character))
    end))
   end
   walk_place = 'keyed:0:' .. to_hex
   member = its_member
  end
 until #members < 100
 return false
end
local function walk_lines_back(member_3, visit_7)
 repeat
  local members_2 = redis.call('ZREVRANGEBYLEX', KEYS[15], member_3 and '(' .. member_3 or '+', '-', 'LIMIT', 0, 100)
  for __10, its_member_2 in ipairs(members_2) do
   if walk_left == 0 or not visit_7(string.sub(its_member_2, -26)) then
    return true
   end
   walk_left = walk_left - 1
   local to_hex_2
   do
    to_hex_2 = (string.gsub(its_member_2, '.', function(character_2)
     return string.format('%02x', string.byte(character_2))
    end))
   end
   walk_place = 'keyed:0:' .. to_hex_2
   member_3 = its_member_2
  end
 until #members_2 < 100
 return false
end
local function walk_ready(segment, index_3, id_12, visit_8)
 if segment == 'keyed' then
  return walk_lines(from_hex(id_12), visit_8)
 end
 local below = string.format('(%.0f', 1759218604441600)
 local middle_3 = redis.call('ZCOUNT', KEYS[6], '-inf', below)
 if segment ~= 'list' and segment ~= 'low' then
  local start_4 = segment == 'high' and rank_behind(KEYS[6], index_3, id_12) or 0
  if walk_zset('high', KEYS[6], start_4, middle_3, visit_8) then
   return true
  end
 end
 if segment ~= 'low' and walk_list(segment == 'list' and index_behind(index_3, id_12) or 0, visit_8) then
  return true
 end
 local start_5 = segment == 'low' and math.max(middle_3, rank_behind(KEYS[6], index_3, id_12)) or middle_3
 return walk_zset('low', KEYS[6], start_5, redis.call('ZCARD', KEYS[6]), visit_8) or walk_lines(nil, visit_8)
end
local function walk_ready_back(segment_2, index_4, id_13, visit_9)
 if not segment_2 or segment_2 == 'keyed' then
  if walk_lines_back(segment_2 and from_hex(id_13), visit_9) then
   return true
  end
 end
 local middle_4 = redis.call('ZCOUNT', KEYS[6], '-inf', string.format('(%.0f', 1759218604441600))
 if segment_2 ~= 'list' and segment_2 ~= 'high' then
  local stop_4 = segment_2 == 'low' and rank_at(KEYS[6], index_4, id_13) or redis.call('ZCARD', KEYS[6])
  if walk_zset_back('low', KEYS[6], middle_4, stop_4, visit_9) then
   return true
  end
 end
 if segment_2 ~= 'high' then
  local stop_5 = segment_2 == 'list' and index_at(index_4, id_13) or redis.call('LLEN', KEYS[5]) + redis.call('LLEN', KEYS[4])
  if walk_list_back(stop_5, visit_9) then
   return true
  end
 end
 local stop_6 = segment_2 == 'high' and math.min(middle_4, rank_at(KEYS[6], index_4, id_13)) or middle_4
 return walk_zset_back('high', KEYS[6], 0, stop_6, visit_9)
end
ARGV[4], ARGV[5], ARGV[6] = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local sets = {
 delayed = KEYS[8],
 retry = KEYS[9],
 working = KEYS[10],
 dead = KEYS[11],
 completed = KEYS[12],
 blocked = KEYS[13],
 grouped = KEYS[14],
}
local page = {
 'page',
 now,
 '',
}
local looked = false
local function add(id_14)
 local size_2 = redis.call('HSTRLEN', KEYS[1], id_14)
 if size_2 == 0 then
  return true
 end
 if #page - 3 >= ARGV[4] or (ARGV[6] < size_2 and looked) then
  return false
 end
 looked = true
 ARGV[6] = ARGV[6] - size_2 - 4096
 page[#page + 1] = look(id_14, ARGV[5], ARGV[2], sets[ARGV[2]])
 return true
end
local walk
do
 local name_5, set_7, from, latest = ARGV[2], sets[ARGV[2]], ARGV[3], ARGV[7] == '1'
 local segment_3, index_5, id_15 = string.match(from, '^(%a+):(%d+):(%w+)$')
 index_5 = tonumber(index_5)
 walk_left, walk_place = 10000, from
 local more
 if name_5 == 'ready' then
  more = (latest and walk_ready_back or walk_ready)(segment_3, index_5, id_15, add)
 elseif latest then
  more = walk_zset_back(name_5, set_7, 0, segment_3 == name_5 and rank_at(set_7, index_5, id_15) or redis.call('ZCARD', set_7), add)
 else
  more = walk_zset(name_5, set_7, segment_3 == name_5 and rank_behind(set_7, index_5, id_15) or 0, redis.call('ZCARD', set_7), add)
 end
 walk = more and walk_place or ''
end
page[3] = walk
return page
