-- groups: jobs that gather (`grouped`) until their group is flushed: then one job, the batch, takes their place (edge P).
--   grouped      zset: each member → when it joined its group; of one with a delay: when it will
--   joining      zset: members with a delay → when they join
--   gathered     zset, scores 0: GROUP, a zero byte, ID of members that have joined: of one group in order of their ids
--   group_times  zset: group → when it is looked at: to be flushed, or for its members' expiry
--   group_sizes  hash: group → u32 members · u32 bytes of their records · u48 first joined · u48 last joined · u48 earliest
--                expiry (0 none) · u16 most members · u48 longest delay, ms · u48 grace period, ms (the latest member's)
--   batches      hash: batch → `b` and the ids of its members; member → `m`, the id of its batch, and its key if others may
--                depend on it
--   flushes      zset of the partition: queue → when its groups have work, or earlier
-- Other scripts that delete a member take it out of `grouped` only: its other entries are passed over, and dropped by a look.
-- Body of a batch: of each member: id · u32 n, its record. queues/engine/record.py makes JSON of it.
-- Scripts include line before it.
-- INCLUDES ids record run ready wake due expiry events minute_counts remove expired
local MEMBERS_MAX = 500 -- of a batch, and how many one call flushes
local BATCH_BYTES = 393216 -- so many bytes of records make a group full, and a batch does not get more, but for one member
local BATCHES_MAX = 16 -- that one call makes
local LOOK_AGAIN_MS = 1000 -- a group with members that expire is looked at no more often
local CLEAN_EVERY_MS = 600000
local BATCH_KEY = '\0batch' -- instead of an idempotency key: tells the relay that a batch has ended
local SIZES = '>I4I4I6I6I6HI6I6'
local members_left = MEMBERS_MAX
local bytes_left = BATCH_BYTES
local batches_left = BATCHES_MAX
local batches_made = 0

local function expect_flush(ms) redis.call('ZADD', flushes, 'LT', ms, queue) end

local function read_group(name, most, delay_max, grace)
  local raw = redis.call('HGET', group_sizes, name)
  if not raw then
    return {name = name, count = 0, bytes = 0, first = now, last = now, ends = 0, most = most, delay_max = delay_max, grace = grace}
  end
  local count, bytes, first, last, ends, its_most, its_delay, its_grace = struct.unpack(SIZES, raw)
  return {name = name, count = count, bytes = bytes, first = first, last = last, ends = ends, most = most or its_most,
    delay_max = delay_max or its_delay, grace = grace or its_grace}
end

local function is_full(group) return group.count >= group.most or group.bytes >= BATCH_BYTES end

local function flush_time(group) return math.min(group.first + group.delay_max, group.last + group.grace) end

local function write_group(group)
  if group.count == 0 then
    redis.call('ZREM', group_times, group.name)
    redis.call('HDEL', group_sizes, group.name)
    return
  end
  local time = is_full(group) and now or flush_time(group)
  if group.ends > 0 then time = math.min(time, math.max(group.ends, now + LOOK_AGAIN_MS)) end
  redis.call('HSET', group_sizes, group.name, struct.pack(SIZES, group.count, group.bytes, group.first, group.last, group.ends,
    group.most, group.delay_max, group.grace))
  redis.call('ZADD', group_times, time, group.name)
  expect_flush(time)
end

-- Jobs that are in `grouped`, and whose records have so many bytes together, join.
local function join_group(group, ids, bytes, expires)
  local entries = {}
  for i, id in ipairs(ids) do entries[2 * i - 1], entries[2 * i] = 0, group.name .. '\0' .. id end
  redis.call('ZADD', gathered, unpack(entries))
  if group.count == 0 then group.first = now end
  group.last = now
  group.count = group.count + #ids
  group.bytes = group.bytes + bytes
  if expires > 0 then group.ends = group.ends > 0 and math.min(group.ends, expires) or expires end
end

-- The first members of a group. → entries of `gathered`, ids, when each joined (false: it has been deleted)
local function first_members(group, most)
  local entries = redis.call('ZRANGEBYLEX', gathered, '[' .. group.name .. '\0', '(' .. group.name .. '\1', 'LIMIT', 0, most)
  local ids = {}
  for i, entry in ipairs(entries) do ids[i] = string.sub(entry, -26) end
  return entries, ids, #ids > 0 and redis.call('ZMSCORE', grouped, unpack(ids)) or {}
end

local function drop_expired(ids)
  redis.call('ZREM', grouped, unpack(ids))
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  drop_records(ids)
  for _, id in ipairs(ids) do emit('expired', id, '', '', '', '') end
  note_gone(ids, 'expired', raw_runs)
  count_stat('x', #ids)
end

-- Counts a group anew, without those of its members that were deleted, and those that have expired, which it drops.
local function count_group(group)
  local entries, ids, joined = first_members(group, MEMBERS_MAX)
  local gone, expired = {}, {}
  local count, bytes, first, last, ends = 0, 0, nil, 0, 0
  for i, id in ipairs(ids) do
    local raw_run = joined[i] and redis.call('HGET', runs, id)
    local its_expiry = joined[i] and expiry_of(id, raw_run)
    if not its_expiry then
      gone[#gone + 1] = entries[i]
    elseif has_expired(its_expiry) then
      gone[#gone + 1] = entries[i]
      expired[#expired + 1] = id
    else
      count = count + 1
      bytes = bytes + redis.call('HSTRLEN', jobs, id)
      local its_time = tonumber(joined[i])
      first, last = math.min(first or its_time, its_time), math.max(last, its_time)
      if its_expiry > 0 then ends = ends > 0 and math.min(ends, its_expiry) or its_expiry end
    end
  end
  if #gone > 0 then redis.call('ZREM', gathered, unpack(gone)) end
  if #expired > 0 then drop_expired(expired) end
  if #entries < MEMBERS_MAX then
    group.count, group.bytes = count, bytes
    if count > 0 then group.first, group.last = first, last end
    group.ends = ends
  else -- there are more: the next look counts them
    group.count = math.max(count, group.count - #gone)
    group.ends = ends > 0 and ends or now
  end
end

-- Keys that are held while their jobs are not done, or have not begun, are the batch's from now on; one by which jobs are
-- replaced is free, for a batch is not replaced.
local function hand_over_keys(its_keys, ids, batch)
  local changed, freed = {}, {}
  for i, held in ipairs(redis.call('HMGET', keys, unpack(its_keys))) do
    local its_mode = held and string.sub(held, 7, 32) == ids[i] and string.sub(held, 33, 33)
    if its_mode == 'r' then
      freed[#freed + 1] = its_keys[i]
    elseif its_mode and its_mode ~= '' then
      changed[#changed + 1] = its_keys[i]
      changed[#changed + 1] = string.sub(held, 1, 6) .. batch .. string.sub(held, 33)
    end
  end
  if #freed > 0 then redis.call('HDEL', keys, unpack(freed)) end
  if #changed > 0 then redis.call('HSET', keys, unpack(changed)) end
end

-- How many of the first members a batch takes by their bytes.
local function number_within(group, ids, joined)
  if group.bytes <= BATCH_BYTES then return #ids end
  local size = 0
  for i, id in ipairs(ids) do
    size = size + (joined[i] and redis.call('HSTRLEN', jobs, id) or 0)
    if size > BATCH_BYTES and i > 1 then return i - 1 end
  end
  return #ids
end

-- The options of a batch, from its members: the most tries, the longest retention, the latest expiry, the highest priority;
-- and the backoff of the first. → options, tries, expires, marks, priority
local function options_of_batch(group, found)
  local longest, most_tries, latest, highest, marks = 0, 1, 0, nil, 0
  local never, head, ids, last_options = false, nil, {}, nil
  for i, member in ipairs(found) do
    if member.options ~= last_options then -- most have the same
      last_options = member.options
      head = head or string.sub(last_options, 7, 19)
      longest = math.max(longest, (struct.unpack('>I6', last_options)))
    end
    if member.tries > most_tries then most_tries = member.tries end
    if member.expires == 0 then never = true end
    if member.expires > latest then latest = member.expires end
    if member.is_awaited then marks = DEPENDED end
    ids[i] = member.id
  end
  if redis.call('EXISTS', priorities) == 1 then
    for _, its in ipairs(redis.call('HMGET', priorities, unpack(ids))) do
      highest = math.max(highest or -100, tonumber(its or 0))
    end
  end
  local attributes = cjson.encode({group = group.name})
  return struct.pack('>I6', longest) .. head .. struct.pack('>Hc0Hc0', #BATCH_KEY, BATCH_KEY, #attributes, attributes) .. group.name
    .. struct.pack(GROUP, #group.name, #found, group.most, group.delay_max, group.grace),
    most_tries, never and 0 or latest, marks, highest or 0, ids
end

local function add_batch(batch, group, found, body, due_ms)
  local its_options, its_tries, expires, marks, its_priority, ids = options_of_batch(group, found)
  redis.call('ZREM', grouped, unpack(ids))
  drop_records(ids)
  redis.call('HSET', jobs, batch, pack_head(its_tries, expires, nil, its_options) .. body)
  redis.call('HSET', runs, batch, struct.pack(RUN, 0, 0, its_tries, marks, expires, now, 0, #its_options, its_options, 0, ''))
  if its_priority ~= 0 then redis.call('HSET', priorities, batch, its_priority) end
  put_ready(batch, its_priority)
  if expires > 0 then expect_expiry(expires, now, {batch}, 1) end
  local fields, of_batch = {batch, 'b' .. table.concat(ids)}, 'm' .. batch
  for i, id in ipairs(ids) do
    fields[2 * i + 1], fields[2 * i + 2] = id, found[i].is_awaited and of_batch .. key_of(found[i].options) or of_batch
  end
  redis.call('HSET', batches, unpack(fields))
  if redis.call('HEXISTS', group_sizes, '') == 0 then
    redis.call('HSET', group_sizes, '', string.format('%.0f 0', now + CLEAN_EVERY_MS))
    expect_flush(now + CLEAN_EVERY_MS)
  end
  emit_line('ready\t' .. batch .. '\t\t' .. math.max(0, now - due_ms) .. '\t\t\t\t')
  count_durations('l', {math.max(0, now - due_ms)})
end

-- Makes a batch of the first members. `is_due`: however few they are. → whether it did
local function flush_batch(group, is_due)
  local due_ms = is_full(group) and now or flush_time(group)
  local entries, ids, joined = first_members(group, group.most)
  local number = number_within(group, ids, joined)
  local alive = {}
  for i = 1, number do
    if joined[i] then alive[#alive + 1] = ids[i] end
  end
  local records = #alive > 0 and redis.call('HMGET', jobs, unpack(alive)) or {}
  local raw_runs = #alive > 0 and redis.call('HMGET', runs, unpack(alive)) or {}
  local found, expired, parts, size = {}, {}, {}, 0
  local number_found, packed_size, last_size = 0, '', -1
  for i, id in ipairs(alive) do
    local raw = records[i]
    local its_tries, expires, _, its_options = unpack_record(raw)
    if has_expired(expires) then
      expired[#expired + 1] = id
    else
      number_found = number_found + 1
      found[number_found] = {id = id, tries = its_tries, expires = expires, options = its_options,
        is_awaited = raw_runs[i] and is_depended_on(raw_runs[i])}
      if #raw ~= last_size then last_size, packed_size = #raw, struct.pack('>I4', #raw) end
      parts[3 * number_found - 2], parts[3 * number_found - 1], parts[3 * number_found] = id, packed_size, raw
      size = size + #raw
    end
  end
  if #found == 0 or not (is_due or #found >= group.most or number < #ids or size >= BATCH_BYTES) then
    count_group(group)
    return false
  end
  redis.call('ZREM', gathered, unpack(entries, 1, number))
  if #expired > 0 then drop_expired(expired) end
  local batch = time_part() .. random .. counter_part(counter + batches_made)
  batches_made = batches_made + 1
  add_batch(batch, group, found, table.concat(parts), due_ms)
  local its_keys, ids_with_key, its_key, last_options = {}, {}, '', nil
  for _, member in ipairs(found) do
    if member.options ~= last_options then last_options, its_key = member.options, key_of(member.options) end
    if its_key ~= '' then its_keys[#its_keys + 1], ids_with_key[#ids_with_key + 1] = its_key, member.id end
  end
  if #its_keys > 0 then hand_over_keys(its_keys, ids_with_key, batch) end
  members_left, bytes_left, batches_left = members_left - #found, bytes_left - size, batches_left - 1
  group.count, group.bytes = math.max(0, group.count - number), math.max(0, group.bytes - size)
  return true
end

local function may_flush() return members_left > 0 and bytes_left > 0 and batches_left > 0 end

-- Flushes a group as far as it is full or its time has come, or (`all`) whatever it has; bounded, as all of a call.
local function flush_group(group, all)
  local is_flushed = false
  while group.count > 0 and may_flush() do
    local is_due = all or flush_time(group) <= now
    if not (is_due or is_full(group)) or not flush_batch(group, is_due) then break end
    is_flushed = true
    -- The members that are left have their own times: a call may have added more than a batch holds.
    if group.count > 0 and not is_full(group) then count_group(group) end
  end
  return is_flushed
end
