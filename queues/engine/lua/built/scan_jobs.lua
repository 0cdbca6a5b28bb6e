--{"name": "scan_jobs", "purpose": "the jobs of one state that match a filter, found by looking at so many of them one after another.", "keys": ["jobs", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "working", "dead", "completed", "flags", "blocked", "grouped", "lines"], "args": ["now_ms", "queue", "state", "after", "limit", "most", "preview", "budget", "id_text", "key_text", "name", "value", "error_text", "body_text", "match_max", "latest"], "rest": false, "replies": ["page"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function unpack_run(raw)
 local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
 return {
  attempt = attempt,
  used = used,
  tries = tries,
  marks = marks % 4,
  depended = marks - marks % 4,
  expires = expires,
  due = due_ms,
  taken = taken,
  options = options,
  consumer = consumer,
  history = string.sub(raw, at),
 }
end
local function ready_size()
 local plain_size
 do
  local tombstones = tonumber(redis.call('HGET', KEYS[13], 't:' .. ARGV[2]) or 0)
  plain_size = redis.call('LLEN', KEYS[4]) + redis.call('LLEN', KEYS[5]) - tombstones + redis.call('ZCARD', KEYS[6])
 end
 return plain_size + redis.call('ZCARD', KEYS[16])
end
local function find_state(id)
 for name, set in pairs({
  working = KEYS[10],
  delayed = KEYS[8],
  retry = KEYS[9],
  dead = KEYS[11],
  completed = KEYS[12],
  blocked = KEYS[14],
  grouped = KEYS[15],
 }) do
  local score = redis.call('ZSCORE', set, id)
  if score then
   return name, score
  end
 end
 return 'ready', ''
end
local walk_left = 0
local walk_place = ''
local function show(ids, name_2, place_of, visit)
 for i, id_2 in ipairs(ids) do
  if walk_left == 0 or not visit(id_2) then
   return true
  end
  walk_left = walk_left - 1
  walk_place = name_2 .. ':' .. place_of(i) .. ':' .. id_2
 end
 return false
end
local function rank_behind(set_2, score_2, id_3)
 local text = string.format('%.0f', score_2)
 local low, high = redis.call('ZCOUNT', set_2, '-inf', '(' .. text), redis.call('ZCOUNT', set_2, '-inf', text)
 while low < high do
  local middle = math.floor((low + high) / 2)
  if redis.call('ZRANGE', set_2, middle, middle)[1] > id_3 then
   high = middle
  else
   low = middle + 1
  end
 end
 return low
end
local function walk_zset(name_3, set_3, start, stop, visit_2)
 while start < stop do
  local found = redis.call('ZRANGE', set_3, start, math.min(start + 100, stop) - 1, 'WITHSCORES')
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
local function rank_at(set_4, score_3, id_4)
 local rank
 do
  local text_2 = string.format('%.0f', score_3)
  local low_2, high_2 = redis.call('ZCOUNT', set_4, '-inf', '(' .. text_2), redis.call('ZCOUNT', set_4, '-inf', text_2)
  while low_2 < high_2 do
   local middle_2 = math.floor((low_2 + high_2) / 2)
   if redis.call('ZRANGE', set_4, middle_2, middle_2)[1] > id_4 then
    high_2 = middle_2
   else
    low_2 = middle_2 + 1
   end
  end
  rank = low_2
 end
 return rank > 0 and redis.call('ZRANGE', set_4, rank - 1, rank - 1)[1] == id_4 and rank - 1 or rank
end
local function walk_zset_back(name_4, set_5, start_2, stop_2, visit_3)
 while stop_2 > start_2 do
  local first = math.max(start_2, stop_2 - 100)
  local found_2 = redis.call('ZRANGE', set_5, first, stop_2 - 1, 'WITHSCORES')
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
local function index_behind(index, id_5)
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
   for _, id_6 in ipairs(others) do
    ids_4[#ids_4 + 1] = id_6
   end
  end
  range_ready = ids_4
 until true
 if range_ready[1] == id_5 then
  return index + 1
 end
 local at_2 = redis.call('LPOS', KEYS[5], id_5, 'MAXLEN', 10000)
 if at_2 then
  return at_2 + 1
 end
 at_2 = redis.call('LPOS', KEYS[4], id_5, 'MAXLEN', 10000)
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
    for __2, id_7 in ipairs(others_2) do
     ids_6[#ids_6 + 1] = id_7
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
local function index_at(index_2, id_8)
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
   for __3, id_9 in ipairs(others_3) do
    ids_7[#ids_7 + 1] = id_9
   end
  end
  range_ready_2 = ids_7
 until true
 if range_ready_2[1] == id_8 then
  return index_2
 end
 local at_3 = redis.call('LPOS', KEYS[4], id_8, 'RANK', -1, 'MAXLEN', 10000)
 if at_3 then
  return at_3 + redis.call('LLEN', KEYS[5])
 end
 return redis.call('LPOS', KEYS[5], id_8, 'MAXLEN', 10000) or index_2
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
    for __4, id_10 in ipairs(others_4) do
     ids_8[#ids_8 + 1] = id_10
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
   members = redis.call('ZRANGEBYLEX', KEYS[16], member_2 and '(' .. member_2 or '-', '+', 'LIMIT', 0, 100)
  end
  for __5, its_member in ipairs(members) do
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
  local members_2 = redis.call('ZREVRANGEBYLEX', KEYS[16], member_3 and '(' .. member_3 or '+', '-', 'LIMIT', 0, 100)
  for __6, its_member_2 in ipairs(members_2) do
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
local function walk_ready(segment, index_3, id_11, visit_8)
 if segment == 'keyed' then
  return walk_lines(from_hex(id_11), visit_8)
 end
 local below = string.format('(%.0f', 1759218604441600)
 local middle_3 = redis.call('ZCOUNT', KEYS[6], '-inf', below)
 if segment ~= 'list' and segment ~= 'low' then
  local start_4 = segment == 'high' and rank_behind(KEYS[6], index_3, id_11) or 0
  if walk_zset('high', KEYS[6], start_4, middle_3, visit_8) then
   return true
  end
 end
 if segment ~= 'low' and walk_list(segment == 'list' and index_behind(index_3, id_11) or 0, visit_8) then
  return true
 end
 local start_5 = segment == 'low' and math.max(middle_3, rank_behind(KEYS[6], index_3, id_11)) or middle_3
 return walk_zset('low', KEYS[6], start_5, redis.call('ZCARD', KEYS[6]), visit_8) or walk_lines(nil, visit_8)
end
local function walk_ready_back(segment_2, index_4, id_12, visit_9)
 if not segment_2 or segment_2 == 'keyed' then
  if walk_lines_back(segment_2 and from_hex(id_12), visit_9) then
   return true
  end
 end
 local middle_4 = redis.call('ZCOUNT', KEYS[6], '-inf', string.format('(%.0f', 1759218604441600))
 if segment_2 ~= 'list' and segment_2 ~= 'high' then
  local stop_4 = segment_2 == 'low' and rank_at(KEYS[6], index_4, id_12) or redis.call('ZCARD', KEYS[6])
  if walk_zset_back('low', KEYS[6], middle_4, stop_4, visit_9) then
   return true
  end
 end
 if segment_2 ~= 'high' then
  local stop_5 = segment_2 == 'list' and index_at(index_4, id_12) or redis.call('LLEN', KEYS[5]) + redis.call('LLEN', KEYS[4])
  if walk_list_back(stop_5, visit_9) then
   return true
  end
 end
 local stop_6 = segment_2 == 'high' and math.min(middle_4, rank_at(KEYS[6], index_4, id_12)) or middle_4
 return walk_zset_back('high', KEYS[6], 0, stop_6, visit_9)
end
ARGV[5], ARGV[7], ARGV[8], ARGV[15] = tonumber(ARGV[5]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[15])
ARGV[9], ARGV[10], ARGV[12] = string.lower(ARGV[9]), string.lower(ARGV[10]), string.lower(ARGV[12])
ARGV[13], ARGV[14] = string.lower(ARGV[13]), string.lower(ARGV[14])
local sets = {
 delayed = KEYS[8],
 retry = KEYS[9],
 working = KEYS[10],
 dead = KEYS[11],
 completed = KEYS[12],
 blocked = KEYS[14],
 grouped = KEYS[15],
}
local reads_record = ARGV[10] .. ARGV[11] .. ARGV[12] .. ARGV[14] ~= ''
local page = {
 'page',
 now,
 '',
 0,
 ARGV[3] == 'ready' and ready_size() or redis.call('ZCARD', sets[ARGV[3]]),
}
local matched = 0
local SEARCH_COST, LOWER_COST = 128, 4
local function has(text_3, part)
 if part == '' then
  return true
 end
 ARGV[8] = ARGV[8] - SEARCH_COST - #text_3 * (LOWER_COST + #part / 64)
 return string.find(string.lower(text_3), part, 1, true) ~= nil
end
local function last_error(id_13)
 local raw_2 = redis.call('HGET', KEYS[2], id_13) or ''
 local history, at_4, text_4 = raw_2 ~= '' and unpack_run(raw_2).history or '', 1, ''
 ARGV[8] = ARGV[8] - #raw_2
 while at_4 <= #history do
  local __7
  __7, __7, __7, __7, __7, text_4, at_4 = struct.unpack('>I4I6I6BBc0Hc0', history, at_4)
 end
 return text_4
end
local function matches_attributes(json)
 if ARGV[11] .. ARGV[12] == '' then
  return true
 end
 ARGV[8] = ARGV[8] - LOWER_COST * #json
 for its_name, its_value in pairs(json ~= '' and cjson.decode(json) or {
 }) do
  if ARGV[11] == '' and (has(its_name, ARGV[12]) or has(its_value, ARGV[12])) then
   return true
  end
  local value = its_name == ARGV[11]
  if value then
   local has_2
   repeat
    local part_2 = ARGV[12]
    if part_2 == '' then
     has_2 = true
     break
    end
    ARGV[8] = ARGV[8] - SEARCH_COST - #its_value * (LOWER_COST + #part_2 / 64)
    has_2 = string.find(string.lower(its_value), part_2, 1, true) ~= nil
   until true
   value = has_2
  end
  if value then
   return true
  end
 end
 return false
end
local function visit_10(id_14)
 if matched >= ARGV[5] then
  return false
 end
 local size = redis.call('HSTRLEN', KEYS[1], id_14)
 if size == 0 then
  return true
 end
 if ARGV[8] <= 0 then
  return false
 end
 ARGV[8] = ARGV[8] - 1024
 local before, looked_before = walk_place, page[4]
 page[4] = page[4] + 1
 local has_3
 repeat
  local part_3 = ARGV[9]
  if part_3 == '' then
   has_3 = true
   break
  end
  ARGV[8] = ARGV[8] - SEARCH_COST - #id_14 * (LOWER_COST + #part_3 / 64)
  has_3 = string.find(string.lower(id_14), part_3, 1, true) ~= nil
 until true
 if not has_3 then
  return true
 end
 if ARGV[13] ~= '' and not has(last_error(id_14), ARGV[13]) then
  return true
 end
 ARGV[8] = ARGV[8] - size
 local raw_3 = redis.call('HGET', KEYS[1], id_14)
 local value_2 = not reads_record
 if not value_2 then
  local matches_record
  repeat
   local __8, __9, __10, options_2, body_at
   do
    local bits, tries_2, expires_2, at_5 = struct.unpack('>BHI6', raw_3)
    local due_ms_2, options_3 = nil, ''
    if bits >= 2 then
     due_ms_2, at_5 = struct.unpack('>I6', raw_3, at_5)
     bits = bits - 2
    end
    if bits == 1 then
     options_3, at_5 = struct.unpack('>Hc0', raw_3, at_5)
    end
    __8, __9, __10, options_2, body_at = tries_2, expires_2, due_ms_2, options_3, at_5
   end
   local its_key, attributes = '', ''
   if options_2 ~= '' then
    __10, __10, __10, __10, its_key, attributes = struct.unpack('>I6BI6I6Hc0Hc0', options_2)
    if string.byte(its_key) == 0 then
     its_key = ''
    end
   end
   local has_4
   repeat
    local text_5, part_4 = its_key, ARGV[10]
    if part_4 == '' then
     has_4 = true
     break
    end
    ARGV[8] = ARGV[8] - SEARCH_COST - #text_5 * (LOWER_COST + #part_4 / 64)
    has_4 = string.find(string.lower(text_5), part_4, 1, true) ~= nil
   until true
   if not (has_4 and matches_attributes(attributes)) then
    matches_record = false
    break
   end
   if ARGV[14] ~= '' and #raw_3 - body_at >= ARGV[15] then
    matches_record = 'unknown'
    break
   end
   local value_3 = ARGV[14] == ''
   if not value_3 then
    local has_5
    repeat
     local text_6, part_5 = string.sub(raw_3, body_at), ARGV[14]
     if part_5 == '' then
      has_5 = true
      break
     end
     ARGV[8] = ARGV[8] - SEARCH_COST - #text_6 * (LOWER_COST + #part_5 / 64)
     has_5 = string.find(string.lower(text_6), part_5, 1, true) ~= nil
    until true
    value_3 = has_5
   end
   matches_record = value_3
  until true
  value_2 = matches_record
 end
 local found_4 = value_2
 if not found_4 then
  return true
 end
 local known = found_4 ~= 'unknown'
 local job
 repeat
  local preview, known_2, set_6, raw_4 = known and ARGV[7], ARGV[3], sets[ARGV[3]], raw_3
  local raw_run = redis.call('HGET', KEYS[2], id_14)
  local expires_3
  repeat
   if raw_run then
    expires_3 = (struct.unpack('>I6', raw_run, 10))
    break
   end
   local raw_5 = redis.call('HGET', KEYS[1], id_14)
   expires_3 = raw_5 and (struct.unpack('>I6', raw_5, 4))
  until true
  if not expires_3 then
   job = nil
   break
  end
  local state, score_4 = known_2, set_6 and redis.call('ZSCORE', set_6, id_14) or ''
  if not known_2 then
   state, score_4 = find_state(id_14)
  end
  local value_4
  do
   local state_2 = state
   value_4 = state_2 == 'ready' or state_2 == 'delayed' or state_2 == 'retry' or state_2 == 'blocked' or state_2 == 'grouped'
  end
  if value_4 then
   local has_expired
   do
    local expires_4 = expires_3
    has_expired = expires_4 > 0 and expires_4 <= now
   end
   value_4 = has_expired
  end
  if value_4 then
   job = nil
   break
  end
  raw_4 = raw_4 or redis.call('HGET', KEYS[1], id_14)
  local __11, __12, __13, __14, body_at_2
  do
   local raw_6 = raw_4
   local bits_2, tries_3, expires_5, at_6 = struct.unpack('>BHI6', raw_6)
   local due_ms_3, options_4 = nil, ''
   if bits_2 >= 2 then
    due_ms_3, at_6 = struct.unpack('>I6', raw_6, at_6)
    bits_2 = bits_2 - 2
   end
   if bits_2 == 1 then
    options_4, at_6 = struct.unpack('>Hc0', raw_6, at_6)
   end
   __11, __12, __13, __14, body_at_2 = tries_3, expires_5, due_ms_3, options_4, at_6
  end
  local size_2 = #raw_4 - body_at_2 + 1
  if preview then
   raw_4 = string.sub(raw_4, 1, body_at_2 - 1 + preview)
  end
  local priority_of
  repeat
   local place = redis.call('HGET', KEYS[7], id_14)
   local zero = (place and string.find(place, '%z'))
   if zero then
    priority_of = 100 - string.byte(place, zero + 1)
    break
   end
   priority_of = tonumber(place or 0)
  until true
  job = {
   id_14,
   state,
   score_4,
   raw_4,
   raw_run or '',
   priority_of,
   redis.call('HEXISTS', KEYS[3], id_14) == 1 and redis.call('HSTRLEN', KEYS[3], id_14) or -1,
   size_2,
  }
 until true
 if not job then
  return true
 end
 if known then
  matched = matched + 1
 end
 job[#job + 1], job[#job + 2], job[#job + 3] = known and 1 or 0, before, looked_before
 page[#page + 1] = job
 return true
end
local walk
do
 local name_5, set_7, from, most, latest = ARGV[3], sets[ARGV[3]], ARGV[4], tonumber(ARGV[6]), ARGV[16] == '1'
 local segment_3, index_5, id_15 = string.match(from, '^(%a+):(%d+):(%w+)$')
 index_5 = tonumber(index_5)
 walk_left, walk_place = most, from
 local more
 if name_5 == 'ready' then
  more = (latest and walk_ready_back or walk_ready)(segment_3, index_5, id_15, visit_10)
 elseif latest then
  more = walk_zset_back(name_5, set_7, 0, segment_3 == name_5 and rank_at(set_7, index_5, id_15) or redis.call('ZCARD', set_7), visit_10)
 else
  more = walk_zset(name_5, set_7, segment_3 == name_5 and rank_behind(set_7, index_5, id_15) or 0, redis.call('ZCARD', set_7), visit_10)
 end
 walk = more and walk_place or ''
end
page[3] = walk
return page
