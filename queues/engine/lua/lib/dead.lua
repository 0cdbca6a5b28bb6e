-- dead: the end of dead letters that nobody wants any more.
-- INCLUDES events remove

-- `reason`: `was dead`, or the bound that they were beyond.
local function delete_dead_letters(ids, reason)
  redis.call('ZREM', dead, unpack(ids))
  drop_records(ids)
  for _, id in ipairs(ids) do emit('deleted', id, '', '', '', reason) end
end
