-- events: one stream entry per script call (per 64 lines): t = ms, q = namespace/queue, n = lines, e = lines.
-- A line is tab-separated: kind, job id, attempt, wait ms, run ms, size, worker, error. Kinds: published ready consumed
-- acked failed lease_lost dead expired deleted released respawned destroyed. Empty = does not apply.
-- Bodies never enter it. The publish time is in the job id.
local LINES_MAX = 64
local TRIM_BATCH = 100
local event_lines = {}

local function emit(kind, id, attempt, wait, run, size, worker, error)
  event_lines[#event_lines + 1] = kind .. '\t' .. id .. '\t' .. attempt .. '\t' .. wait .. '\t' .. run .. '\t' .. size
    .. '\t' .. worker .. '\t' .. error
end

-- What a cap drops is counted in `counters` events_dropped, by events, not entries. cap 0: events are off.
local function flush_events(events, counters, queue, now, cap)
  local total = #event_lines
  cap = tonumber(cap)
  if total == 0 or cap == 0 then return end
  for first = 1, total, LINES_MAX do
    local last = math.min(first + LINES_MAX - 1, total)
    redis.call('XADD', events, '*', 't', now, 'q', queue, 'n', last - first + 1,
      'e', table.concat(event_lines, '\n', first, last))
  end
  local length = redis.call('XLEN', events)
  if length >= cap + TRIM_BATCH then
    local dropped = 0
    for _, entry in ipairs(redis.call('XRANGE', events, '-', '+', 'COUNT', length - cap)) do
      dropped = dropped + tonumber(entry[2][6])
    end
    redis.call('XTRIM', events, 'MAXLEN', cap)
    redis.call('HINCRBY', counters, 'events_dropped', dropped)
  end
end
