-- events: one stream entry per script call (per 64 lines): t = ms, q = namespace/queue, n = lines, e = lines.
-- A line is tab-separated: kind, job id, attempt, wait ms, run ms, size, worker, error. Kinds: published ready consumed
-- acked purged failed lease_lost dead expired deleted released rescheduled respawned destroyed. Empty = does not apply.
-- Bodies never enter it. The publish time is in the job id.
-- INCLUDES event_bytes
local LINES_MAX = 64
local TRIM_BATCH = 100
local TRIM_PART = 64
local FULL_BYTES = 1048576
local FULL_PART = 4
local DAY_MS = 86400000
local event_lines = {}

-- A whole line, for scripts in which every microsecond counts.
local function emit_line(line) event_lines[#event_lines + 1] = line end

local function emit(kind, id, attempt, run, worker, error)
  emit_line(kind .. '\t' .. id .. '\t' .. attempt .. '\t\t' .. run .. '\t\t' .. worker .. '\t' .. error)
end

-- Drops the oldest entries until at most `most` bytes are left, at most TRIM_BATCH entries a call; or more, if these were
-- smaller than what the call has added: else many small ones would be slower to go than large ones come.
local function trim_events(held, most, added)
  local dropped, freed, entries, from = 0, 0, 0, '-'
  repeat
    local found = redis.call('XRANGE', events, from, '+', 'COUNT', TRIM_BATCH)
    for _, entry in ipairs(found) do
      if held - freed <= most then break end
      local fields = entry[2]
      dropped = dropped + tonumber(fields[6])
      freed = freed + event_bytes(fields[4], fields[8])
      entries = entries + 1
      from = '(' .. entry[1]
    end
  until freed >= added or held - freed <= most or #found < TRIM_BATCH
  redis.call('XTRIM', events, 'MAXLEN', redis.call('XLEN', events) - entries)
  redis.call('HINCRBY', counters, 'events_bytes', -freed)
  local known = redis.call('HMGET', counters, 'events_dropped', 'events_dropped_at')
  if known[1] and now - tonumber(known[2] or 0) >= DAY_MS then
    redis.call('HSET', counters, 'events_dropped_before', known[1]) -- an incident that is over: the next one counts from here
  end
  redis.call('HINCRBY', counters, 'events_dropped', dropped)
  redis.call('HSET', counters, 'events_dropped_at', string.format('%d', now))
end

-- The cap counts bytes, so it bounds memory whatever the entries hold: one addition a call. cap 0: events are off.
-- A second one counts the events of the UTC day, whose number is the field: the lake is held against it (appended_events.lua).
-- At the cap a part of it is dropped at once: reading back what is dropped costs too much to be done in every call.
-- The call by which the stream becomes full (`full_bytes` in keys.py) wakes drains, on the channel of the stream's name.
-- The drain may have changed the cap, but never to less than half of the equal share (KEPT_PART in operations/event_memory.py):
-- it is looked up from there on only.
local function flush_events()
  local total = #event_lines
  local most = tonumber(cap)
  if total == 0 or most == 0 then return end
  local added = 0
  for first = 1, total, LINES_MAX do
    local last = math.min(first + LINES_MAX - 1, total)
    local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last)
    redis.call('XADD', events, '*', 't', string.format('%d', now), 'q', queue, 'n', last - first + 1, 'e', lines)
    added = added + event_bytes(queue, lines)
  end
  redis.call('HINCRBY', counters, math.floor(now / DAY_MS), total)
  local held = redis.call('HINCRBY', counters, 'events_bytes', added)
  local full = most < FULL_PART * FULL_BYTES and most / FULL_PART or FULL_BYTES
  if held >= full and held - added < full then redis.pcall('PUBLISH', events, held) end -- its failure is not the jobs'
  if held > most / 2 then most = tonumber(redis.call('HGET', counters, 'events_most') or most) end
  if held > most then trim_events(held, most - math.floor(most / TRIM_PART), added) end
end
