--{"name": "scan_jobs", "purpose": "the jobs of one state that match a filter, found by looking at so many of them one after another.", "keys": ["jobs", "runs", "results", "ready", "front", "prio", "priorities", "delayed", "retry", "working", "dead", "completed", "flags", "blocked", "grouped", "lines"], "args": ["now_ms", "queue", "state", "after", "limit", "most", "preview", "budget", "id_text", "key_text", "name", "value", "error_text", "body_text", "match_max"], "rest": false, "replies": ["page"]}
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
local function index_behind(index, id_4)
 local range_ready
 repeat
  local in_front = redis.call('LLEN', KEYS[5])
  if in_front == 0 then
   range_ready = redis.call('LRANGE', KEYS[4], index, index)
   break
  end
  local ids_3 = index < in_front and redis.call('LRANGE', KEYS[5], index, index) or {
  }
  if index >= in_front then
   local others = redis.call('LRANGE', KEYS[4], math.max(0, index - in_front), index - in_front)
   for _, id_5 in ipairs(others) do
    ids_3[#ids_3 + 1] = id_5
   end
  end
  range_ready = ids_3
 until true
 if range_ready[1] == id_4 then
  return index + 1
 end
 local at_2 = redis.call('LPOS', KEYS[5], id_4, 'MAXLEN', 10000)
 if at_2 then
  return at_2 + 1
 end
 at_2 = redis.call('LPOS', KEYS[4], id_4, 'MAXLEN', 10000)
 if at_2 then
  return at_2 + redis.call('LLEN', KEYS[5]) + 1
 end
 return index < 10000 / 2 and 0 or index
end
local function walk_list(start_2, visit_3)
 repeat
  local ids_4
  repeat
   local first, last = start_2, start_2 + 100 - 1
   local in_front_2 = redis.call('LLEN', KEYS[5])
   if in_front_2 == 0 then
    ids_4 = redis.call('LRANGE', KEYS[4], first, last)
    break
   end
   local ids_5 = first < in_front_2 and redis.call('LRANGE', KEYS[5], first, last) or {
   }
   if last >= in_front_2 then
    local others_2 = redis.call('LRANGE', KEYS[4], math.max(0, first - in_front_2), last - in_front_2)
    for __2, id_6 in ipairs(others_2) do
     ids_5[#ids_5 + 1] = id_6
    end
   end
   ids_4 = ids_5
  until true
  if show(ids_4, 'list', function(i_4)
   return start_2 + i_4 - 1
  end, visit_3) then
   return true
  end
  start_2 = start_2 + #ids_4
 until #ids_4 == 0
 return false
end
local function from_hex(digits)
 return (string.gsub(digits, '%x%x', function(pair)
  return string.char(tonumber(pair, 16))
 end))
end
local function walk_lines(member, visit_4)
 repeat
  local members
  do
   local member_2 = member
   members = redis.call('ZRANGEBYLEX', KEYS[16], member_2 and '(' .. member_2 or '-', '+', 'LIMIT', 0, 100)
  end
  for __3, its_member in ipairs(members) do
   if walk_left == 0 or not visit_4(string.sub(its_member, -26)) then
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
local function has(text_2, part)
 if part == '' then
  return true
 end
 ARGV[8] = ARGV[8] - SEARCH_COST - #text_2 * (LOWER_COST + #part / 64)
 return string.find(string.lower(text_2), part, 1, true) ~= nil
end
local function last_error(id_7)
 local raw_2 = redis.call('HGET', KEYS[2], id_7) or ''
 local history, at_3, text_3 = raw_2 ~= '' and unpack_run(raw_2).history or '', 1, ''
 ARGV[8] = ARGV[8] - #raw_2
 while at_3 <= #history do
  local __4
  __4, __4, __4, __4, __4, text_3, at_3 = struct.unpack('>I4I6I6BBc0Hc0', history, at_3)
 end
 return text_3
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
local function visit_5(id_8)
 if matched >= ARGV[5] then
  return false
 end
 local size = redis.call('HSTRLEN', KEYS[1], id_8)
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
  ARGV[8] = ARGV[8] - SEARCH_COST - #id_8 * (LOWER_COST + #part_3 / 64)
  has_3 = string.find(string.lower(id_8), part_3, 1, true) ~= nil
 until true
 if not has_3 then
  return true
 end
 if ARGV[13] ~= '' and not has(last_error(id_8), ARGV[13]) then
  return true
 end
 ARGV[8] = ARGV[8] - size
 local raw_3 = redis.call('HGET', KEYS[1], id_8)
 local value_2 = not reads_record
 if not value_2 then
  local matches_record
  repeat
   local __5, __6, __7, options_2, body_at
   do
    local bits, tries_2, expires_2, at_4 = struct.unpack('>BHI6', raw_3)
    local due_ms_2, options_3 = nil, ''
    if bits >= 2 then
     due_ms_2, at_4 = struct.unpack('>I6', raw_3, at_4)
     bits = bits - 2
    end
    if bits == 1 then
     options_3, at_4 = struct.unpack('>Hc0', raw_3, at_4)
    end
    __5, __6, __7, options_2, body_at = tries_2, expires_2, due_ms_2, options_3, at_4
   end
   local its_key, attributes = '', ''
   if options_2 ~= '' then
    __7, __7, __7, __7, its_key, attributes = struct.unpack('>I6BI6I6Hc0Hc0', options_2)
   end
   local has_4
   repeat
    local text_4, part_4 = its_key, ARGV[10]
    if part_4 == '' then
     has_4 = true
     break
    end
    ARGV[8] = ARGV[8] - SEARCH_COST - #text_4 * (LOWER_COST + #part_4 / 64)
    has_4 = string.find(string.lower(text_4), part_4, 1, true) ~= nil
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
     local text_5, part_5 = string.sub(raw_3, body_at), ARGV[14]
     if part_5 == '' then
      has_5 = true
      break
     end
     ARGV[8] = ARGV[8] - SEARCH_COST - #text_5 * (LOWER_COST + #part_5 / 64)
     has_5 = string.find(string.lower(text_5), part_5, 1, true) ~= nil
    until true
    value_3 = has_5
   end
   matches_record = value_3
  until true
  value_2 = matches_record
 end
 local found_2 = value_2
 if not found_2 then
  return true
 end
 local known = found_2 ~= 'unknown'
 local job
 repeat
  local preview, known_2, set_4, raw_4 = known and ARGV[7], ARGV[3], sets[ARGV[3]], raw_3
  local raw_run = redis.call('HGET', KEYS[2], id_8)
  local expires_3
  repeat
   if raw_run then
    expires_3 = (struct.unpack('>I6', raw_run, 10))
    break
   end
   local raw_5 = redis.call('HGET', KEYS[1], id_8)
   expires_3 = raw_5 and (struct.unpack('>I6', raw_5, 4))
  until true
  if not expires_3 then
   job = nil
   break
  end
  local state, score_3 = known_2, set_4 and redis.call('ZSCORE', set_4, id_8) or ''
  if not known_2 then
   state, score_3 = find_state(id_8)
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
  raw_4 = raw_4 or redis.call('HGET', KEYS[1], id_8)
  local __8, __9, __10, __11, body_at_2
  do
   local raw_6 = raw_4
   local bits_2, tries_3, expires_5, at_5 = struct.unpack('>BHI6', raw_6)
   local due_ms_3, options_4 = nil, ''
   if bits_2 >= 2 then
    due_ms_3, at_5 = struct.unpack('>I6', raw_6, at_5)
    bits_2 = bits_2 - 2
   end
   if bits_2 == 1 then
    options_4, at_5 = struct.unpack('>Hc0', raw_6, at_5)
   end
   __8, __9, __10, __11, body_at_2 = tries_3, expires_5, due_ms_3, options_4, at_5
  end
  local size_2 = #raw_4 - body_at_2 + 1
  if preview then
   raw_4 = string.sub(raw_4, 1, body_at_2 - 1 + preview)
  end
  local priority_of
  repeat
   local place = redis.call('HGET', KEYS[7], id_8)
   local zero = (place and string.find(place, '%z'))
   if zero then
    priority_of = 100 - string.byte(place, zero + 1)
    break
   end
   priority_of = tonumber(place or 0)
  until true
  job = {
   id_8,
   state,
   score_3,
   raw_4,
   raw_run or '',
   priority_of,
   redis.call('HEXISTS', KEYS[3], id_8) == 1 and redis.call('HSTRLEN', KEYS[3], id_8) or -1,
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
 local name_4, set_5, from, most = ARGV[3], sets[ARGV[3]], ARGV[4], tonumber(ARGV[6])
 local segment, index_2, id_9 = string.match(from, '^(%a+):(%d+):(%w+)$')
 index_2 = tonumber(index_2)
 walk_left, walk_place = most, from
 local more
 if name_4 == 'ready' then
  do
   local result
   repeat
    local index_3 = index_2
    if segment == 'keyed' then
     result = walk_lines(from_hex(id_9), visit_5)
     break
    end
    local below = string.format('(%.0f', 1759218604441600)
    local middle_2 = redis.call('ZCOUNT', KEYS[6], '-inf', below)
    if segment ~= 'list' and segment ~= 'low' then
     local start_3 = segment == 'high' and rank_behind(KEYS[6], index_3, id_9) or 0
     if walk_zset('high', KEYS[6], start_3, middle_2, visit_5) then
      result = true
      break
     end
    end
    if segment ~= 'low' and walk_list(segment == 'list' and index_behind(index_3, id_9) or 0, visit_5) then
     result = true
     break
    end
    local start_4 = segment == 'low' and math.max(middle_2, rank_behind(KEYS[6], index_3, id_9)) or middle_2
    result = walk_zset('low', KEYS[6], start_4, redis.call('ZCARD', KEYS[6]), visit_5) or walk_lines(nil, visit_5)
   until true
   more = result
  end
 else
  more = walk_zset(name_4, set_5, segment == name_4 and rank_behind(set_5, index_2, id_9) or 0, redis.call('ZCARD', set_5), visit_5)
 end
 walk = more and walk_place or ''
end
page[3] = walk
return page
