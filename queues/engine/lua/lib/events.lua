-- events: one stream entry per script call (per 64 lines): t = ms, q = namespace/queue, n = lines, e = lines.
-- A line is tab-separated: kind, job id, attempt, wait ms, run ms, size, worker, error. Kinds: published ready consumed
-- acked purged failed lease_lost dead expired deleted released rescheduled respawned destroyed. Empty = does not apply.
-- Bodies never enter it. The publish time is in the job id.
local LINES_MAX = 64
local TRIM_BATCH = 100
local TRIM_PART = 64
local event_lines = {}

-- A whole line, for scripts in which every microsecond counts.
local function emit_line(line) event_lines[#event_lines + 1] = line end

local function emit(kind, id, attempt, run, worker, error)
  emit_line(kind .. '\t' .. id .. '\t' .. attempt .. '\t\t' .. run .. '\t\t' .. worker .. '\t' .. error)
end

-- Drops the oldest entries until at most `most` events are left, at most TRIM_BATCH entries a call (a call adds fewer).
local function trim_events(held, most)
  local dropped, entries = 0, 0
  for _, entry in ipairs(redis.call('XRANGE', events, '-', '+', 'COUNT', TRIM_BATCH)) do
    if held - dropped <= most then break end
    dropped = dropped + tonumber(entry[2][6])
    entries = entries + 1
  end
  redis.call('XTRIM', events, 'MAXLEN', redis.call('XLEN', events) - entries)
  redis.call('HINCRBY', counters, 'events_held', -dropped)
  redis.call('HINCRBY', counters, 'events_dropped', dropped)
end

-- The cap counts events, not entries, so it bounds memory whatever the batches. cap 0: events are off.
-- At the cap a part of it is dropped at once: reading back what is dropped costs too much to be done in every call.
local function flush_events()
  local total = #event_lines
  local most = tonumber(cap)
  if total == 0 or most == 0 then return end
  if total == 1 then
    redis.call('XADD', events, '*', 't', string.format('%d', now), 'q', queue, 'n', '1', 'e', event_lines[1])
  else
    for first = 1, total, LINES_MAX do
      local last = math.min(first + LINES_MAX - 1, total)
      redis.call('XADD', events, '*', 't', string.format('%d', now), 'q', queue, 'n', last - first + 1,
        'e', table.concat(event_lines, '\n', first, last))
    end
  end
  local held = redis.call('HINCRBY', counters, 'events_held', total)
  if held > most then trim_events(held, most - math.floor(most / TRIM_PART)) end
end
