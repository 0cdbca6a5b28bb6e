-- bulk: how much a script that works through many jobs may do at once, in bytes: a job has up to a MiB, a result another.

-- The first of `ids` whose values in these hashes have at most `budget` bytes together: all, or fewer; one at least. Asks
-- for lengths only, and not for a single job, which costs what it costs.
local function first_within(ids, budget, records, more_records)
  if #ids <= 1 then return ids end
  local left, has_more = budget, more_records and redis.call('EXISTS', more_records) == 1
  for i = 1, #ids do
    left = left - redis.call('HSTRLEN', records, ids[i])
    if has_more then left = left - redis.call('HSTRLEN', more_records, ids[i]) end
    if left < 0 and i > 1 then return {unpack(ids, 1, i - 1)} end
  end
  return ids
end
