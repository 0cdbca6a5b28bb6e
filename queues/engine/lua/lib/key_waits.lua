-- key_waits: what the ready jobs of a limit key wait for.
-- INCLUDES fair rates_and_weights

-- When the queue's own rate lets the next job through, ms; 0: now.
local function queue_free_at()
  local queue_step, queue_burst = read_limits()
  if queue_step == 0 then return 0 end
  local _, _, tat = unpack_clock(redis.call('HGET', shares, ''))
  local free, its_tat = conform(tat, queue_step, queue_burst)
  return free > 0 and 0 or conforms_at(its_tat, queue_step, queue_burst)
end

-- → {key ready working weight word free_at}. `raw`: what `shares` has of the key.
local function describe_key(its_key, raw)
  local _, _, at_once, step, burst, weight = read_limits()
  local in_work, _, tat = unpack_share(raw)
  local word, free_at = 'turn', 0
  if at_once > 0 and in_work >= at_once then
    word = 'concurrency'
  elseif step > 0 then
    local free, its_tat = conform(tat, step, burst)
    if free <= 0 then word, free_at = 'rate', conforms_at(its_tat, step, burst) end
  end
  local from, to = line_bounds(its_key .. string.char(0))
  return {its_key, redis.call('ZLEXCOUNT', lines, from, to), in_work, weight_of(its_key, weight), word, free_at}
end
