-- rates_and_weights: arithmetic of what consume_with_limits.lua enforces: the limits of a queue and of its limit keys, as
-- queues/engine/queue_limits.py writes them. Numbers with spaces between them, each 0 if there is no such limit:
--   µs that a job of the queue takes from its rate, burst · the most of a key that may be working at once · µs that a job of a
--   key takes from the key's rate, burst · default weight
-- then, for each key with another weight: line feed, key, tab, weight.
local WEIGHT_UNIT = 1000000 -- by how much later the next job of a key of weight 1 starts
local now_us = now * 1000

-- → the six numbers
local function read_limits()
  if limits == '' then return 0, 0, 0, 0, 0, 1 end
  local queue_step, queue_burst, at_once, step, burst, weight = string.match(limits, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  return tonumber(queue_step), tonumber(queue_burst), tonumber(at_once), tonumber(step), tonumber(burst), tonumber(weight)
end

local function weight_of(its_key, default)
  if its_key == '' then return default end
  local _, found = string.find(limits, '\n' .. its_key .. '\t', 1, true)
  return found and tonumber(string.match(limits, '^%d+', found + 1)) or default
end

-- By how much later the next job of a key starts.
local function stride_of(its_key, default) return math.floor(WEIGHT_UNIT / weight_of(its_key, default) + 0.5) end

-- → how many jobs a rate lets through now, its theoretical arrival time as far as limit and clock admit it
local function conform(tat, its_step, its_burst)
  local latest = now_us + its_burst * its_step
  tat = math.min(math.max(tat, now_us), latest)
  return math.floor((latest - tat) / its_step), tat
end

-- When it lets the next one through, ms.
local function conforms_at(tat, its_step, its_burst) return math.ceil((tat + its_step - its_burst * its_step) / 1000) end
