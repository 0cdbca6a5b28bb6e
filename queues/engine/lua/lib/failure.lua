-- failure: where a job goes whose attempt did not end in an ack (edges H and I). It has been taken out of `working`.
-- INCLUDES record run ready_places expiry_horizon backoff outgoing
local OUTCOME_FAILED = 1
local OUTCOME_LEASE_LOST = 2

-- Puts the job into dead, retry or ready. `delay` nil: its backoff decides, and `fallback` (nil: none) is used where that is 0.
-- A job whose attempt was cancelled is dead, whatever its attempt ended by. → 'dead' | 'retry' | 'ready', due ms (0 unless retry)
local function after_failure(id, run, outcome, error, delay, to_dead, fallback)
  local cancelled = run.marks >= CANCELLED
  remember_attempt(run, outcome, cancelled and error == '' and 'cancelled' or error)
  leave_slot_of(run.options)
  local state, due_ms = 'ready', 0
  if to_dead or cancelled or run.used >= run.tries then
    run.marks = run.marks % CANCELLED
    state = 'dead'
    redis.call('ZADD', dead, now, id)
    if unpack_options(run.options) > 0 then redis.call('PUBLISH', channel, 'done\t' .. queue .. '\t' .. id) end
  else
    if not delay then
      local kind, base, most = backoff_of(run.options, outcome == OUTCOME_FAILED)
      delay = backoff_delay(kind, base, most, math.max(1, run.used), id)
      if delay == 0 and fallback then delay = fallback end
    end
    run.due = now
    if delay > 0 then
      state, due_ms = 'retry', now_up + delay
      run.due = due_ms
      redis.call('ZADD', retry, due_ms, id)
    else
      put_ready(id, place_of(id))
    end
  end
  redis.call('HSET', runs, id, pack_run(run))
  if state == 'dead' and run.depended > 0 then note_ended(id, 'dead', run.options) end
  if state ~= 'dead' and run.expires > 0 then expect_expiry(run.expires, run.due, {id}, 1) end
  return state, due_ms
end
