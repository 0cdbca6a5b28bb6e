-- blocked: begins jobs that wait for others (edge C), ids[2] and those behind it, whose records, runs and places are there.
-- INCLUDES expiry_horizon events minute_counts outgoing
local MEMBERS_MAX = 2000 -- values of one call: unpack can do some 8,000

-- What the jobs wait for: the arguments from `first` to `last`; and the marks of open ones (lib/waits.lua).
local function note_dependencies(ids, first, last)
  local members, untold = {}, '?' .. policy
  for i = 2, #ids do
    local head = ids[i] .. '\t'
    if open == '1' then members[#members + 1], members[#members + 2] = 0, head .. '+' .. policy end
    for j = first, last do
      members[#members + 1], members[#members + 2] = 0, head .. untold .. ARGV[j]
      if #members >= MEMBERS_MAX then
        redis.call('ZADD', waits, unpack(members))
        members = {}
      end
    end
  end
  if #members > 0 then redis.call('ZADD', waits, unpack(members)) end
end

-- `sizes`: of the bodies. `wait`: ms until they are due. `expires`: 0 = never.
local function begin_blocked(ids, sizes, due_ms, wait, expires)
  local places, messages, ends, line_middle = {}, {}, {}, '\t\t' .. (wait > 0 and wait or '') .. '\t\t'
  for i = 2, #ids do
    local id = ids[i]
    places[2 * i - 3], places[2 * i - 2] = due_ms, id
    messages[2 * i - 3], messages[2 * i - 2] = now, waits_message(id)
    ends[2 * i - 3], ends[2 * i - 2] = expires, id
    emit_line('published\t' .. id .. line_middle .. sizes[i - 1] .. '\t\t')
  end
  redis.call('ZADD', blocked, unpack(places))
  redis.call('ZADD', outgoing, unpack(messages))
  if expires > 0 then
    redis.call('ZADD', expiring, unpack(ends))
    schedule_sweep(expires)
  end
  count_stat('p', #ids - 1)
end
