-- plain_ready_places: as lib/ready_places.lua, for scripts that meet no jobs with a limit key and do without keys for them.
-- INCLUDES ready
local function put_ready(id, place) put_plain(id, tonumber(place or 0)) end

local function place_new(ids, is_delayed) place_plain(ids, tonumber(priority), is_delayed) end

local function line_size() return plain_size() end
