-- failure: where a job goes whose attempt did not end in an ack (edges H and I). It has been taken out of `working`.
-- INCLUDES record run ready due backoff
local OUTCOME_FAILED, OUTCOME_LEASE_LOST = 1, 2

-- `delay` nil: by the job's backoff. → 'dead' | 'retry' | 'ready', due ms (0 unless retry)
local function after_failure(K, queue, id, run, now, outcome, error, delay, to_dead)
  remember_attempt(run, now, outcome, error)
  local state, due = 'ready', 0
  if to_dead or run.attempt >= run.tries then
    state = 'dead'
    redis.call('ZADD', K.dead, now, id)
  else
    if not delay then
      local _, kind, base, cap = unpack_options(run.options)
      delay = backoff_delay(kind, base, cap, run.attempt, id)
    end
    run.due = now + delay
    if delay > 0 then
      state, due = 'retry', now + delay
      redis.call('ZADD', K.retry, due, id)
    else
      put_ready(K.ready, K.prio, id, tonumber(redis.call('HGET', K.priorities, id) or 0), now)
    end
  end
  redis.call('HSET', K.runs, id, pack_run(run))
  return state, due
end
