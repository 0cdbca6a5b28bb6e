-- batch: what happens to a batch happens to all its members (lib/groups.lua): statistics count them, events name them.
-- INCLUDES record
local MEMBERS_NAMED = 2000 -- in one call; events of further batches name the batch itself
local named = 0

-- The jobs that events of this one are about: itself, or the members of a batch.
local function subjects_of(id, options)
  local its = named < MEMBERS_NAMED and group_of(options) and redis.call('HGET', batches, id)
  if not its then return {id} end
  local ids = {}
  for place = 2, #its, 26 do ids[#ids + 1] = string.sub(its, place, place + 25) end
  named = named + #ids
  return ids
end
