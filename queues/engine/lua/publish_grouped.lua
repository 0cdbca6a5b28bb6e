-- publish_grouped: adds members of a group (edge D), and flushes the group if it is full (edge P). All or nothing.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of jobs with long records, and of batches
--   results      hash     of a job that is replaced
--   expiring     zset     which waiting jobs expire soon
--   keys         hash     idempotency keys
--   ready        list     gets batches
--   front        list     goes before `ready`
--   prio         zset     the same, of other priorities
--   priorities   hash     priorities other than 0
--   delayed      zset     a job that is replaced may be there
--   retry        zset     a job that is replaced may be there
--   working      zset     whether a job is worked on
--   dead         zset     whether it is dead
--   completed    zset     whether it is completed
--   blocked      zset     where it may be
--   grouped      zset     gets members
--   joining      zset     gets members with a delay
--   gathered     zset     members by group
--   group_times  zset     when groups are flushed
--   group_sizes  hash     how full groups are
--   batches      hash     batches and their members
--   flags        hash     the horizon of expiry
--   flushes      zset     index of groups
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   dependants   zset     whether a job waits for one with the key
--   outgoing     zset     gets messages to the jobs that depend on a job
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   random       13 characters, shared by the ids of this call
--   counter      number at which their last three characters begin: those of batches, then those of jobs
--   delay        ms
--   at           ms or ""  absolute due time instead of a delay
--   ttl          ms        0 = never expires
--   tries        number
--   priority     -100..100
--   options      bytes     packed options, with the group
--   key          "" or idempotency key (one job only)
--   key_ttl      ms        0 = for ever, or as long as `mode` says
--   mode         "": for key_ttl; d: while the job is not done; s: while it has not begun; r: replace it as long as it has not begun
--   max_wait     ms        mode r: the job joins so long after the first that was replaced, at the latest; 0 = no bound
--   once_ttl     ms        for which the ids are remembered by which a repetition is recognised; 0 = there are none
--   ...          the bodies, each behind its id if `once_ttl` is not 0
-- REPLIES
--   ok           id ...    added, or added before under the same id, in the order of the bodies
--   duplicate    id        the key belongs to this job; nothing was added
--   ttl_short              the job would expire before it joins; nothing was added
-- COUNTS ok:1 duplicate:1
-- INCLUDES ready_places unique keys add remove groups
local FLUSH_WITH_MAX = 200 -- members that a call adds and still flushes: either alone takes some ms
local remembered = tonumber(once_ttl)
local answer, bodies, fresh = {'ok'}, {}, {}
for i = REST, #ARGV, remembered > 0 and 2 or 1 do
  local id = ''
  if remembered > 0 then
    local held = redis.call('HGET', keys, ARGV[i])
    if held then
      local until_ms, its_id = struct.unpack('>I6c26', held)
      if until_ms > now then id = its_id end
    end
  end
  answer[#answer + 1] = id
  if id == '' then
    fresh[#fresh + 1] = #answer
    bodies[#bodies + 1] = ARGV[remembered > 0 and i + 1 or i]
  end
end
if #bodies == 0 then
  write_to_stream()
  return answer
end

local replaced, first_at = nil, now
local ttl_ms, wait = tonumber(ttl), tonumber(delay)
local due_ms = at ~= '' and math.max(now, tonumber(at)) or wait > 0 and now_up + wait or now
if key ~= '' then
  local holder
  if mode == '' then
    holder = holder_of_key()
  else
    local held = redis.call('HGET', keys, key)
    holder = held and is_held(held)
    if holder and mode == 'r' and string.sub(held, 33, 33) == 'r' and not has_begun(holder) then
      replaced, first_at = holder, struct.unpack('>I6', held, 34)
      if tonumber(max_wait) > 0 then due_ms = math.max(now, math.min(due_ms, first_at + tonumber(max_wait))) end
      holder = nil
    end
  end
  if holder then
    write_to_stream()
    return {'duplicate', holder}
  end
end
if ttl_ms > 0 and due_ms - now > ttl_ms then return {'ttl_short'} end

local name, _, most, delay_max, grace = group_of(options)
local is_delayed = due_ms > now
local expires = ttl_ms > 0 and now + ttl_ms or 0
local head = pack_head(tonumber(tries), expires, is_delayed and due_ms or nil, options)
local is_awaited = is_key_awaited()
local prefix, ids, records, new_runs, places, size = time_part() .. random, {}, {}, {}, {}, 0
for i, body in ipairs(bodies) do
  local id = prefix .. counter_part(counter + BATCHES_MAX + i - 1)
  ids[i] = id
  answer[fresh[i]] = id
  records[2 * i - 1], records[2 * i] = id, head .. body
  places[2 * i - 1], places[2 * i] = due_ms, id
  size = size + #head + #body
  if #head + #body > LONG_RECORD or is_awaited then
    new_runs[#new_runs + 1] = id
    new_runs[#new_runs + 1] = struct.pack(RUN, 0, 0, tries, is_awaited and DEPENDED or 0, expires, due_ms, 0, #options, options, 0, '')
  end
  emit_line('published\t' .. id .. '\t\t' .. (is_delayed and due_ms - now or '') .. '\t\t' .. #body .. '\t\t')
end
redis.call('HSET', jobs, unpack(records))
if #new_runs > 0 then redis.call('HSET', runs, unpack(new_runs)) end
if tonumber(priority) ~= 0 then
  local its_priorities = {}
  for i, id in ipairs(ids) do its_priorities[2 * i - 1], its_priorities[2 * i] = id, priority end
  redis.call('HSET', priorities, unpack(its_priorities))
end
redis.call('ZADD', grouped, unpack(places))
enrol(#ids)
if key ~= '' then
  if mode == '' then hold_key(ids[1]) else hold_while(mode, ids[1], first_at) end
end
if remembered > 0 then
  for i, place in ipairs(fresh) do
    redis.call('HSET', keys, ARGV[REST + 2 * (place - 2)], struct.pack('>I6c26', now + remembered, ids[i]))
  end
  expect_key_end(now + remembered)
end

local group = read_group(name, most, delay_max, grace)
-- The job that the new one takes the place of.
if replaced then
  if redis.call('ZSCORE', grouped, replaced) then
    redis.call('ZREM', joining, replaced)
    local raw_run = redis.call('HGET', runs, replaced)
    local its_options
    if raw_run then its_options = run_options(raw_run) else _, _, _, its_options = unpack_record(redis.call('HGET', jobs, replaced)) end
    local its_name = group_of(its_options)
    if redis.call('ZREM', gathered, its_name .. '\0' .. replaced) == 1 then
      local its_group = its_name == name and group or read_group(its_name)
      its_group.count = math.max(0, its_group.count - 1)
      its_group.bytes = math.max(0, its_group.bytes - redis.call('HSTRLEN', jobs, replaced))
      if its_group ~= group then write_group(its_group) end
    end
  end
  if remove_job(replaced) then emit('deleted', replaced, '', '', '', '') end
end
if is_delayed then
  redis.call('ZADD', joining, unpack(places))
  expect_flush(due_ms)
  if replaced then write_group(group) end
else
  join_group(group, ids, size, expires)
  if #ids <= FLUSH_WITH_MAX then flush_group(group, false) end -- else the role does it, at once
  write_group(group)
end
if batches_made > 0 then wake_ready(batches_made) end
count_stat('p', #ids)
flush_events()
return answer
