-- delete_expired: deletes waiting jobs that have expired (edge N). The first write frees.
-- INCLUDES run ready remove fair events minute_counts outgoing
local BYTES_COST = 16384 -- to free so many bytes counts as much as to delete one job

-- Deletes those of `ids` that exist: waiting jobs, all of which have expired.
local function expire_jobs(ids)
  if #ids == 0 then return end
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  local blocks = redis.call('EXISTS', blocked) == 1 and redis.call('ZMSCORE', blocked, unpack(ids)) or {}
  redis.call('ZREM', expiring, unpack(ids))
  local elsewhere = redis.call('ZREM', delayed, unpack(ids)) + redis.call('ZREM', retry, unpack(ids))
    + redis.call('ZREM', prio, unpack(ids))
  if #blocks > 0 then elsewhere = elsewhere + redis.call('ZREM', blocked, unpack(ids)) end
  local places = redis.call('HMGET', priorities, unpack(ids))
  drop_records(ids)
  for i, id in ipairs(ids) do emit('expired', id, raw_runs[i] and run_attempt(raw_runs[i]) or '', '', '', '') end
  note_gone(ids, 'expired', raw_runs)
  for i, id in ipairs(ids) do
    if blocks[i] then
      note_waits(id)
    elseif key_end(places[i]) and redis.call('ZREM', lines, places[i] .. id) == 1 then
      leave_turns(string.sub(places[i], 1, key_end(places[i]) - 1))
      elsewhere = elsewhere + 1
    end
  end
  if #ids > elsewhere then count_tombstones(#ids - elsewhere) end
  count_stat('x', #ids)
end

-- Deletes jobs of `expiring` whose time has come, at most about `most`. → their number, whether there are more
local function expire_known(most)
  local found = redis.call('ZRANGEBYSCORE', expiring, '-inf', now, 'LIMIT', 0, most)
  local ids, cost = {}, 0
  for _, id in ipairs(found) do
    if cost >= most then break end
    ids[#ids + 1] = id
    cost = cost + 1 + math.floor(redis.call('HSTRLEN', jobs, id) / BYTES_COST)
  end
  expire_jobs(ids)
  return #ids, #ids < #found or #found == most
end
