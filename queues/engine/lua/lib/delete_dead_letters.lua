-- delete_dead_letters: deletes dead letters that were dropped by a person or a bound.
-- INCLUDES events remove outgoing

-- `reason`: `was dead`, or the bound that they were beyond.
local function delete_dead_letters(ids, reason)
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  redis.call('ZREM', dead, unpack(ids))
  drop_records(ids)
  for _, id in ipairs(ids) do emit('deleted', id, '', '', '', reason) end
  note_gone(ids, 'deleted', raw_runs)
end
