-- line: where ready jobs wait: one without a limit key in the list or in `prio`, one with a key in the line of its key.
-- INCLUDES ready record fair
local function put_ready(id, place)
  if key_end(place) then join_line(id, place, false) else put_plain(id, tonumber(place or 0)) end
end

local function put_ready_at_head(id, place)
  if key_end(place) then join_line(id, place, true) else put_plain_at_head(id, tonumber(place or 0)) end
end

-- New jobs, ids[2] and those behind it, which share their options: notes their place, and puts those that are ready there.
local function place_new(ids, is_delayed)
  local its_key = limit_key_of(options)
  if not its_key then return place_plain(ids, tonumber(priority), is_delayed) end
  local number = LINE_START + redis.call('HINCRBY', flags, 'l:' .. queue, #ids - 1) - #ids
  local band, places, members = its_key .. string.char(0, 100 - priority), {}, {}
  for i = 2, #ids do
    local place = band .. struct.pack('>I6', number + i)
    places[2 * i - 3], places[2 * i - 2] = ids[i], place
    members[2 * i - 3], members[2 * i - 2] = 0, place .. ids[i]
  end
  redis.call('HSET', priorities, unpack(places))
  if is_delayed then return end
  redis.call('ZADD', lines, unpack(members))
  join_turns(its_key)
end

local function line_size() return ready_size() end
