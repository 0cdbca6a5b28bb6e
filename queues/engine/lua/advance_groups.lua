-- advance_groups: one visit to the groups of a queue: members whose delay is over join, groups whose time has come are
-- flushed (edge P), members that have expired are dropped (edge N), and what `batches` has of batches that are gone. Bounded;
-- repeating it changes nothing. The first write frees.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of jobs with long records, and of batches
--   expiring     zset     which waiting jobs expire soon
--   keys         hash     idempotency keys
--   ready        list     gets batches
--   front        list     goes before `ready`
--   prio         zset     the same, of other priorities
--   priorities   hash     priorities other than 0
--   grouped      zset     members
--   joining      zset     members with a delay
--   gathered     zset     members by group
--   group_times  zset     when groups are flushed
--   group_sizes  hash     how full groups are
--   batches      hash     batches and their members
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   flushes      zset     set to the true next time
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets what jobs that depend on a job have to learn
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   random       13 characters, shared by the ids of this call
--   counter      number at which their last three characters begin
--   limit        members that join, and groups that are looked at
--   only         "", or a group that is flushed whatever it has, and nothing else done
-- REPLIES
--   ok           batches jobs more   batches that were made; jobs that joined, or went into them; 1: there is more to do now
-- INCLUDES ready_places groups registry
local changed = 0
limit = tonumber(limit)

local function join_due()
  local found = redis.call('ZRANGEBYSCORE', joining, '-inf', now, 'LIMIT', 0, limit)
  for _, id in ipairs(found) do
    if not may_flush() then break end
    redis.call('ZREM', joining, id)
    if redis.call('ZSCORE', grouped, id) then
      local raw_run = redis.call('HGET', runs, id)
      local expires, its_options
      if raw_run then
        expires, its_options = run_expiry(raw_run), run_options(raw_run)
      else
        _, expires, _, its_options = unpack_record(redis.call('HGET', jobs, id))
      end
      if has_expired(expires) then
        drop_expired({id})
      else
        local name, _, most, delay_max, grace = group_of(its_options)
        local group = read_group(name, most, delay_max, grace)
        redis.call('ZADD', grouped, now, id)
        join_group(group, {id}, redis.call('HSTRLEN', jobs, id), expires)
        if is_full(group) then flush_group(group, false) end
        write_group(group)
        changed = changed + 1
      end
    end
  end
end

local function look_at_groups()
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', group_times, '-inf', now, 'LIMIT', 0, limit)) do
    if not may_flush() then break end
    local group, before = read_group(name), members_left
    if is_full(group) or flush_time(group) <= now then
      flush_group(group, false)
    else
      count_group(group)
    end
    if before == members_left then members_left = members_left - group.count end -- it was looked at
    write_group(group)
  end
end

-- → when to look again, nil if nothing is left to look through
local function clean_batches()
  local state = redis.call('HGET', group_sizes, '')
  if not state then return nil end
  local look_at, cursor = string.match(state, '^(%d+) (%d+)$')
  look_at = tonumber(look_at)
  if look_at > now then return look_at end
  local found, entries = redis.call('HSCAN', batches, cursor, 'COUNT', 200), 0
  -- A message that such a batch has ended is carried by its members (operations/relay.py).
  local is_needed = redis.call('EXISTS', outgoing) == 1
  for i = 1, #found[2], 2 do
    local id, value = found[2][i], found[2][i + 1]
    if string.sub(value, 1, 1) == 'b' and not is_needed and entries < MEMBERS_MAX and redis.call('HEXISTS', jobs, id) == 0 then
      local gone = {id}
      for place = 2, #value, 26 do gone[#gone + 1] = string.sub(value, place, place + 25) end
      redis.call('HDEL', batches, unpack(gone))
      entries = entries + #gone
    end
  end
  redis.call('HDEL', group_sizes, '')
  if redis.call('EXISTS', batches) == 0 then return nil end
  local again = now + (found[1] == '0' and CLEAN_EVERY_MS or LOOK_AGAIN_MS)
  redis.call('HSET', group_sizes, '', string.format('%.0f %s', again, found[1]))
  return again
end

if only ~= '' then
  local group = read_group(only)
  if group.count > 0 then
    flush_group(group, true)
    write_group(group)
  end
  local is_left = group.count > 0
  if batches_made > 0 then wake_ready(batches_made) end
  forget_if_empty()
  flush_events()
  return {'ok', batches_made, MEMBERS_PER_CALL - members_left, is_left and 1 or 0}
end
join_due()
look_at_groups()
local next_at = clean_batches()
local function visit_at(ms) if ms then next_at = math.min(next_at or ms, ms) end end
visit_at(head_score(joining))
visit_at(head_score(group_times))
redis.call('ZREM', flushes, queue) -- first, so that a full Redis lets the ZADD through
if next_at then redis.call('ZADD', flushes, next_at, queue) end
if batches_made > 0 then wake_ready(batches_made) end
forget_if_empty()
flush_events()
return {'ok', batches_made, changed, next_at and next_at <= now and 1 or 0}
