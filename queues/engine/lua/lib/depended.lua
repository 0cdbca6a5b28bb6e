-- depended: marks a job that others depend on, so that the script that ends it says so (lib/outgoing.lua): no other job pays.
-- INCLUDES ids record run
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
