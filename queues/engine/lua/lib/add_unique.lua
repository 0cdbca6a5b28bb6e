-- add_unique: adds one job with a key that is held as long as a job is in certain states (lib/unique.lua), unless one that
-- has the key is not done yet (or has not begun yet), or instead of one that waits. All or nothing, as lib/add.lua.
-- INCLUDES ready_places add unique remove has_expired
local function add_unique(bodies)
  local held = redis.call('HGET', keys, key)
  local replaced, first
  local holder = held and is_held(held)
  if holder then
    if mode == 'r' and string.sub(held, 33, 33) == 'r' and not has_begun(holder) then
      replaced, first = holder, struct.unpack('>I6', held, 34)
    end
  end
  local wait, due_at = tonumber(delay), nil
  if replaced and tonumber(max_wait) > 0 then
    local latest = first + tonumber(max_wait)
    local asked = at ~= '' and tonumber(at) or now + wait
    if asked > latest then due_at = math.max(now, latest) end
  end
  local added = add_jobs(bodies, nil, due_at, replaced or not holder)
  if added[1] == 'ok' then
    hold_while(mode, added[2], first or now)
    if replaced and remove_job(replaced) then emit('deleted', replaced, '', '', '', '') end
  end
  return added
end
