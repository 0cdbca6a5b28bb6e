-- ready_places: where ready jobs wait: one without a limit key in the list or in `prio`, one with a key in the line of its key.
-- INCLUDES ready record fair
local function put_ready(id, place)
  if key_end(place) then join_line(id, place, false) else put_plain(id, tonumber(place or 0)) end
end

local function put_ready_at_head(id, place)
  if key_end(place) then join_line(id, place, true) else put_plain_at_head(id, tonumber(place or 0)) end
end

-- Notes the places of new jobs, ids[2] and those behind it, which share their options and have a limit key. → places
local function note_places(ids, its_key)
  local number = LINE_START + redis.call('HINCRBY', flags, 'l:' .. queue, #ids - 1) - #ids
  local band, places, fields = its_key .. string.char(0, 100 - priority), {}, {}
  for i = 2, #ids do
    local place = band .. struct.pack('>I6', number + i)
    places[i - 1] = place
    fields[2 * i - 3], fields[2 * i - 2] = ids[i], place
  end
  redis.call('HSET', priorities, unpack(fields))
  return places
end

-- The same of new jobs with or without a limit key, whose records are written ahead of them (lua/stage.lua).
local function note_places_ahead(ids)
  local its_key = limit_key_of(options)
  if its_key then note_places(ids, its_key) else note_priorities(ids, tonumber(priority)) end
end

-- New jobs, ids[2] and those behind it, which share their options: notes their place, unless that was done ahead, and puts
-- those that are ready there.
local function place_new(ids, is_delayed, are_noted)
  local its_key = limit_key_of(options)
  if not its_key then return place_plain(ids, tonumber(priority), is_delayed, are_noted) end
  if are_noted and is_delayed then return end
  local places, members = are_noted and redis.call('HMGET', priorities, unpack(ids, 2)) or note_places(ids, its_key), {}
  if is_delayed then return end
  for i = 2, #ids do members[2 * i - 3], members[2 * i - 2] = 0, places[i - 1] .. ids[i] end
  redis.call('ZADD', lines, unpack(members))
  join_turns(its_key)
end

local function line_size() return ready_size() end
