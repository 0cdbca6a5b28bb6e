-- remove: takes a job out of whatever state it is in, with all that belongs to it. The first write frees, so this works
-- on a full Redis.
-- INCLUDES ready fair outgoing

-- Forgets jobs that were just taken out of their set.
local function drop_records(ids)
  redis.call('HDEL', jobs, unpack(ids))
  redis.call('HDEL', runs, unpack(ids))
  redis.call('HDEL', priorities, unpack(ids))
end

-- → how the job had ended before: `was dead`, `was completed`, or empty if it had not; nil: there is no such job
local function remove_job(id)
  local raw_run = redis.call('HGET', runs, id)
  if redis.call('HDEL', jobs, id) == 0 then return nil end
  local place = place_of(id)
  local zero = key_end(place)
  redis.call('HDEL', runs, id)
  redis.call('HDEL', priorities, id)
  if redis.call('ZREM', completed, id) == 1 then
    redis.call('HDEL', results, id)
    return 'was completed'
  end
  if raw_run and is_depended_on(raw_run) then note_ended(id, 'deleted', run_options(raw_run)) end
  if redis.call('ZREM', dead, id) == 1 then return 'was dead' end
  if redis.call('ZREM', working, id) == 1 then
    if zero then leave_slots(string.sub(place, 1, zero - 1), 1) end
    return ''
  end
  redis.call('ZREM', expiring, id)
  if redis.call('ZREM', blocked, id) == 1 then
    note_waits(id)
    return ''
  end
  -- What else its group keeps of it is dropped when the group is looked at (lib/groups.lua).
  if redis.call('ZREM', grouped, id) == 1 then return '' end
  if redis.call('ZREM', delayed, id) + redis.call('ZREM', retry, id) + redis.call('ZREM', prio, id) == 0 then
    if zero then leave_line(id, place) else count_tombstones(1) end
  end
  return ''
end
