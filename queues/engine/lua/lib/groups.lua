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
-- INCLUDES ids record run ready wake due expiry_horizon events minute_counts remove has_expired
local MEMBERS_MAX = 500 -- of a batch
local MEMBERS_PER_CALL = 250 -- after so many one call flushes no further group, nor a further batch of one
local BATCH_BYTES = 393216 -- so many bytes of records make a group full, and a batch does not get more, but for one member
local BATCHES_MAX = 16 -- that one call makes
local LOOK_AGAIN_MS = 1000 -- a group with members that expire is looked at no more often
local CLEAN_EVERY_MS = 600000
local BATCH_KEY = '\0batch' -- instead of an idempotency key: tells the relay that a batch has ended
local SIZES = '>I4I4I6I6I6HI6I6'
local members_left = MEMBERS_PER_CALL
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

-- A batch without members yet: its ids, the most tries, the longest retention, the latest expiry; the backoff of the first
-- member; of each id that others depend on, its key ('' = none); and the keys of ids with a key.
local function new_batch()
  return {ids = {}, longest = 0, tries = 1, latest = 0, never = false, head = nil, awaited = {}, marks = 0, keys = {}, ids_with_key = {}}
end

-- Collects members that have not expired, and the parts of the body. Members that came in one call share their options, and
-- often their size. → ids that have expired, bytes of the records of the others
local function collect_members(found, parts, alive)
  local records = redis.call('HMGET', jobs, unpack(alive))
  local raw_runs = redis.call('HMGET', runs, unpack(alive))
  local expired, size, its_ids = {}, 0, found.ids
  local last_options, its_key, last_size, size_text = nil, '', 0, ''
  for i, id in ipairs(alive) do
    local raw, raw_run = records[i], raw_runs[i]
    local its_tries, expires, _, its_options = unpack_record(raw)
    if has_expired(expires) then
      expired[#expired + 1] = id
    else
      its_ids[#its_ids + 1] = id
      if its_options ~= last_options then
        last_options, its_key = its_options, key_of(its_options)
        found.head = found.head or string.sub(its_options, 7, 19)
        found.longest = math.max(found.longest, (struct.unpack('>I6', its_options)))
      end
      if its_key ~= '' then
        found.keys[#found.keys + 1], found.ids_with_key[#found.ids_with_key + 1] = its_key, id
      end
      if its_tries > found.tries then found.tries = its_tries end
      if expires == 0 then found.never = true elseif expires > found.latest then found.latest = expires end
      if raw_run and is_depended_on(raw_run) then found.marks, found.awaited[id] = DEPENDED, its_key end
      if #raw ~= last_size then last_size, size_text = #raw, struct.pack('>I4', #raw) end
      local at = #parts
      parts[at + 1], parts[at + 2], parts[at + 3] = id, size_text, raw
      size = size + #raw
    end
  end
  return expired, size
end

-- The highest priority of members, 0 if none has another.
local function highest_priority(ids)
  if redis.call('EXISTS', priorities) == 0 then return 0 end
  local highest = -100
  for _, its in ipairs(redis.call('HMGET', priorities, unpack(ids))) do highest = math.max(highest, tonumber(its or 0)) end
  return highest
end

local function options_of_batch(group, found)
  local attributes = cjson.encode({group = group.name})
  return struct.pack('>I6', found.longest) .. found.head .. struct.pack('>Hc0Hc0', #BATCH_KEY, BATCH_KEY, #attributes, attributes)
    .. group.name .. struct.pack(GROUP, #group.name, #found.ids, group.most, group.delay_max, group.grace)
end

-- `parts`: of the body, behind one that is free.
local function add_batch(batch, group, found, parts, due_ms)
  local ids, its_priority, its_options = found.ids, highest_priority(found.ids), options_of_batch(group, found)
  local expires = found.never and 0 or found.latest
  redis.call('ZREM', grouped, unpack(ids))
  drop_records(ids)
  parts[1] = pack_head(found.tries, expires, nil, its_options)
  redis.call('HSET', jobs, batch, table.concat(parts))
  redis.call('HSET', runs, batch, struct.pack(RUN, 0, 0, found.tries, found.marks, expires, now, 0, #its_options, its_options, 0, ''))
  if its_priority ~= 0 then redis.call('HSET', priorities, batch, its_priority) end
  put_ready(batch, its_priority)
  if expires > 0 then expect_expiry(expires, now, {batch}, 1) end
  local fields, membership = {batch, 'b' .. table.concat(ids)}, 'm' .. batch
  for i, id in ipairs(ids) do
    local its_key = found.awaited[id]
    fields[2 * i + 1], fields[2 * i + 2] = id, its_key and membership .. its_key or membership
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
  local found, parts, expired, size = new_batch(), {''}, {}, 0
  if #alive > 0 then expired, size = collect_members(found, parts, alive) end
  local members = #found.ids
  if members == 0 or not (is_due or members >= group.most or number < #ids or size >= BATCH_BYTES) then
    count_group(group)
    return false
  end
  redis.call('ZREM', gathered, unpack(entries, 1, number))
  if #expired > 0 then drop_expired(expired) end
  local batch = time_part() .. random .. counter_part(counter + batches_made)
  batches_made = batches_made + 1
  add_batch(batch, group, found, parts, due_ms)
  if #found.keys > 0 then hand_over_keys(found.keys, found.ids_with_key, batch) end
  members_left, bytes_left, batches_left = members_left - members, bytes_left - size, batches_left - 1
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
