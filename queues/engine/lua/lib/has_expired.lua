-- has_expired: whether a job has expired. Scripts that read jobs do not show expired ones, though they may not be swept yet.
-- INCLUDES record run

-- When the job expires if it waits until then, in ms; 0 if never, nil if there is no such job. `raw_run`: its run.
local function expiry_of(id, raw_run)
  if raw_run then return run_expiry(raw_run) end
  local raw = redis.call('HGET', jobs, id)
  return raw and record_expiry(raw)
end

local function has_expired(expires) return expires > 0 and expires <= now end

-- Whether jobs in this state expire.
local function is_waiting(state)
  return state == 'ready' or state == 'delayed' or state == 'retry' or state == 'blocked' or state == 'grouped'
end
