-- events: one stream entry per script call (per 64 lines): t = ms, q = namespace/queue, n = lines, e = lines.
-- A line is tab-separated: kind, job id, attempt, wait ms, run ms, size, worker, error. Kinds: published ready consumed
-- acked failed lease_lost dead expired deleted released respawned destroyed. Empty = does not apply.
-- Bodies never enter it. The publish time is in the job id.
local LINES_MAX = 64
local TRIM_BATCH = 100
local event_lines = {}

-- A whole line, for scripts in which every microsecond counts.
local function emit_line(line) event_lines[#event_lines + 1] = line end

local function emit(kind, id, attempt, run, worker, error)
  emit_line(kind .. '\t' .. id .. '\t' .. attempt .. '\t\t' .. run .. '\t\t' .. worker .. '\t' .. error)
end

-- What a cap drops is counted in `counters` events_dropped, by events, not entries. cap 0: events are off.
local function trim_events(length, most)
  local dropped = 0
  for _, entry in ipairs(redis.call('XRANGE', events, '-', '+', 'COUNT', length - most)) do
    dropped = dropped + tonumber(entry[2][6])
  end
  redis.call('XTRIM', events, 'MAXLEN', most)
  redis.call('HINCRBY', counters, 'events_dropped', dropped)
end

local function flush_events()
  local total = #event_lines
  local most = tonumber(cap)
  if total == 0 or most == 0 then return end
  if total == 1 then
    redis.call('XADD', events, '*', 't', now, 'q', queue, 'n', '1', 'e', event_lines[1])
  else
    for first = 1, total, LINES_MAX do
      local last = math.min(first + LINES_MAX - 1, total)
      redis.call('XADD', events, '*', 't', now, 'q', queue, 'n', last - first + 1,
        'e', table.concat(event_lines, '\n', first, last))
    end
  end
  local length = redis.call('XLEN', events)
  if length >= most + TRIM_BATCH then trim_events(length, most) end
end
