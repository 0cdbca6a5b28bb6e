-- dependency_marks: marks a job that others depend on, so that the script that ends it says so (lib/outgoing.lua). No other
-- job pays.
-- INCLUDES ids record run

-- The job itself, or the batch that it has become part of; nil if neither is there.
local function find_job(id)
  if redis.call('HEXISTS', jobs, id) == 1 then return id end
  local value = redis.call('HGET', batches, id)
  local batch = value and string.sub(value, 1, 1) == 'm' and string.sub(value, 2, 27)
  return batch and redis.call('HEXISTS', jobs, batch) == 1 and batch or nil
end

local function mark_run(id)
  local raw = redis.call('HGET', runs, id)
  if raw and is_depended_on(raw) then return end
  if not raw then
    local tries, expires, due_ms, options = unpack_record(redis.call('HGET', jobs, id))
    raw = struct.pack(RUN, 0, 0, tries, 0, expires, due_ms or id_time(id), 0, #options, options, 0, '')
  end
  local run = unpack_run(raw)
  run.depended = DEPENDED
  redis.call('HSET', runs, id, pack_run(run))
end
