-- deliver: delivers jobs that a script has taken off the queue (consume.lua, consume_with_limits.lua). An expired job is dropped
-- instead; of those and of tombstones a call steps over so many only.
-- Scripts include ready_places or plain_ready_places before it.
-- INCLUDES ids record run ready wake due registry events minute_counts remove outgoing
local asked = tonumber(count)
local most = asked
local skip_max = tonumber(skip)
local bytes_max = tonumber(budget)
local has_expiring = false
local reply = {'jobs', now, 0, 0}
local waits = {}
local delivered = 0
local tombstones = 0
local expired = 0
local skipped = 0
local known_dead = false
local bytes = 0
local chunk = 16 -- the first few say how large the bodies are
local burned = freeze == '1' and 0 or 1
local lease_end = string.format('%d', now + ttr) -- as text: Redis turns a number into one for each job
local last_consumer = ARGV[#ARGV]
local SMALL_BODY = 4096
local FREED_BYTES = 16384 -- to free so many takes about as long as to skip an entry
local CHUNK_MAX = 64 -- what one look-up may read, whatever comes after small ones

local function wait_for_more()
  local mark_ms = tonumber(mark)
  if mark_ms > 0 then mark_waiting(mark_ms) end
end

local function nothing(word, next_due)
  wait_for_more()
  return {word, now, next_due}
end

-- How many ids to take off the queue. Behind a dead entry there may be very many: those that are not needed go back.
local function fetch_size()
  if tombstones + expired > 0 then return CHUNK_MAX end
  return math.min(most - delivered, chunk)
end

-- The options that a consumer gets: '' unless they may hold attributes or a group.
local function options_to_tell(options)
  if options == '' then return '' end
  local bits, _, _, key_size, attributes_size = struct.unpack('>BI6I6HH', options, 7)
  if key_size + attributes_size > 0 or bits % HAS_LIMIT_KEY >= HAS_GROUP then return options end
  return ''
end

-- Values that repeat from job to job are formatted once.
local numbers = ''
local numbers_attempt = 0
local numbers_wait = 0
local numbers_size = 0
local function format_numbers(attempt, wait, size)
  if attempt ~= numbers_attempt or wait ~= numbers_wait or size ~= numbers_size then
    numbers_attempt, numbers_wait, numbers_size = attempt, wait, size
    numbers = string.format('\t%d\t%d\t\t%d\t', attempt, wait, size)
  end
  return numbers
end

-- Hands out one job. → its new run, or nil if it has expired
local function deliver_one(id, raw, raw_run)
  local tries, expires, due_ms, options, body_at = unpack_record(raw)
  local attempt, used, depended, history = 0, 0, 0, ''
  if raw_run then
    local history_at, marks, _
    attempt, used, tries, marks, expires, due_ms, _, _, _, history_at = struct.unpack(RUN, raw_run)
    history = string.sub(raw_run, history_at)
    if marks >= DEPENDED then depended = marks - marks % DEPENDED end
  end
  if expires > 0 and expires <= now then
    emit('expired', id, attempt, '', '', '')
    return nil
  end
  attempt = attempt + 1
  if used < U16_MAX then used = used + burned end
  due_ms = due_ms or id_time(id)
  local wait = now > due_ms and now - due_ms or 0
  local body = string.sub(raw, body_at)
  bytes = bytes + #body
  delivered = delivered + 1
  waits[delivered] = wait
  local consumer = ARGV[REST - 1 + delivered] or last_consumer
  reply[delivered + 4] = {id, attempt, used, tries, expires, options_to_tell(options), body}
  emit_line('consumed\t' .. id .. format_numbers(attempt, wait, #body) .. consumer .. '\t')
  return struct.pack(RUN, attempt, used, tries, 1 - burned + depended, expires, due_ms, now, #options, options, #consumer,
    consumer) .. history
end

-- Whether it is known that no job in line lives. `expiring` has delayed jobs as well; each is taken for one that has expired.
local function is_known_dead()
  local known = redis.call('ZCOUNT', expiring, '-inf', now)
  if known == 0 then return false end
  local elsewhere = redis.call('ZCARD', delayed) + redis.call('ZCARD', retry) + redis.call('ZCARD', blocked)
  return line_size() + tombstones <= known - math.min(known, elsewhere)
end

-- The records of these ids, in order. None is read of a job that is in `lapsed`.
local function read_records(ids, lapsed)
  if not lapsed then return #ids > 0 and redis.call('HMGET', jobs, unpack(ids)) end
  local wanted, places, records = {}, {}, {}
  for i, id in ipairs(ids) do
    if not lapsed[id] then wanted[#wanted + 1], places[#places + 1] = id, i end
  end
  local found = #wanted > 0 and redis.call('HMGET', jobs, unpack(wanted)) or {}
  for i, record in ipairs(found) do records[places[i]] = record end
  return records
end

-- Delivers those of `ids` that fit, in order. → the place of the first that is left over, those that were delivered
local function deliver(ids)
  local first_left = #ids + 1
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  local gone, gone_runs, lapsed = {}, {}, nil
  -- A record is long only where there is a run. None is read of a job that has expired or that does not fit any more.
  if #ids > 1 or raw_runs[1] then
    local kept, size, alive = {}, bytes, 0
    for i, id in ipairs(ids) do
      local raw_run, length, expires = raw_runs[i], 0, 0
      if raw_run then
        length, expires = redis.call('HSTRLEN', jobs, id), struct.unpack('>I6', raw_run, RUN_EXPIRES)
      end
      if size >= bytes_max or alive >= most - delivered or skipped >= skip_max then
        first_left = i
        break
      elseif length > 0 and expires > 0 and expires <= now then
        -- It is dropped in its turn: entries behind the last job that is delivered are left as they were.
        skipped = skipped + math.floor(length / FREED_BYTES)
        lapsed = lapsed or {}
        lapsed[id] = true
      else
        size = size + length
        if length > 0 then alive = alive + 1 end
      end
      kept[i] = id
    end
    ids = kept
  end
  local records = read_records(ids, lapsed)
  local new_runs, leases, delivered_ids, taken = {}, {}, {}, 0
  for i = 1, #ids do
    local id = ids[i]
    if delivered >= most then
      first_left = i
      break
    end
    local run = records[i] and deliver_one(id, records[i], raw_runs[i])
    if run then
      new_runs[taken + 1], new_runs[taken + 2] = id, run
      leases[taken + 1], leases[taken + 2] = lease_end, id
      delivered_ids[taken / 2 + 1] = id
      taken = taken + 2
    elseif lapsed and lapsed[id] then
      emit('expired', id, (struct.unpack('>I4', raw_runs[i])), '', '', '')
      gone[#gone + 1], gone_runs[#gone + 1] = id, raw_runs[i]
    elseif records[i] then
      gone[#gone + 1], gone_runs[#gone + 1] = id, raw_runs[i]
    else
      tombstones = tombstones + 1
      skipped = skipped + 1
    end
  end
  if #gone > 0 then
    drop_records(gone)
    note_gone(gone, 'expired', gone_runs)
    if has_expiring then redis.call('ZREM', expiring, unpack(gone)) end
    expired = expired + #gone
    skipped = skipped + 2 * #gone
    known_dead = has_expiring -- the caller looks (is_known_dead) once what is left over is back in line
  end
  if taken > 0 then
    redis.call('HSET', runs, unpack(new_runs))
    redis.call('ZADD', working, unpack(leases))
    if has_expiring then redis.call('ZREM', expiring, unpack(delivered_ids)) end
  end
  if bytes < delivered * SMALL_BODY then chunk = CHUNK_MAX end
  return first_left, delivered_ids
end

-- The end of the script: counts, and what it answers.
local function finish_delivery(next_due)
  if tombstones > 0 then count_tombstones(-tombstones) end
  if expired > 0 then
    count_stat('x', expired)
    forget_if_empty()
  end
  if delivered > 0 then
    lower_index(ends, lease_end)
    count_durations('w', waits)
  end
  flush_events()
  local early = not known_dead and (skipped >= skip_max or bytes >= bytes_max)
  if delivered > 0 then
    if delivered < asked then
      reply[3] = next_due
      if early then reply[4] = 1 else wait_for_more() end
    end
    return reply
  end
  if early then return {'more', now} end
  return nothing('none', next_due)
end
