-- settle: what has become of dependencies of blocked jobs. A job with none left is ready, or delayed if it is not due yet
-- (edge O); if one has failed and the job's policy says so, it is dead (edge O). Repeating it changes nothing.
-- KEYS
--   runs         hash     due times
--   ready        list     where they go
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   blocked      zset     where they come from
--   waits        zset     what they wait for
--   delayed      zset     where they go if they are not due
--   dead         zset     where they go if a dependency has failed
--   expiring     zset     which waiting jobs expire soon
--   due          zset     index of due times
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     messages to other partitions
--   flags        hash     number of places in lines
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   ...          for each: job id; policy and dependency as in lib/waits.lua; outcome: waits (it is known there now), acked, or
--                why it has failed: dead, deleted, expired, unknown; or `cycle ...`, which the job never survives
-- REPLIES
--   ok           ended messages   jobs that are not blocked any more; messages to other partitions that were written
-- INCLUDES record run ready_places wake due events minute_counts waits
local OUTCOME_FAILED = 1
local is_freed, failed = {}, {} -- of each id: whether it waits for one less; the error that it dies of
local carried = {} -- messages that have been carried completely
local sent = {} -- new messages, with their times

local function send(message) sent[#sent + 1], sent[#sent + 2] = now, message end

local function note(id, wait, outcome)
  local head, policy = id .. '\t', string.sub(wait, 1, 1)
  local is_fatal = outcome ~= 'acked' and policy == 'f' or string.sub(outcome, 1, 6) == 'cycle '
  if outcome == 'waits' then
    if redis.call('ZREM', waits, head .. '?' .. wait) == 1 then redis.call('ZADD', waits, 0, head .. '+' .. wait) end
  elseif outcome ~= 'acked' and policy == 'w' and not is_fatal then
    if redis.call('ZREM', waits, head .. '?' .. wait, head .. '+' .. wait) > 0 then
      redis.call('ZADD', waits, 0, head .. '-' .. wait)
    end
  elseif redis.call('ZREM', waits, head .. '?' .. wait, head .. '+' .. wait, head .. '-' .. wait) > 0 then
    is_freed[id] = true
    if is_fatal and not failed[id] then failed[id] = 'dependency ' .. string.sub(wait, 2) .. ': ' .. outcome end
  end
end

local function bury(ids)
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  redis.call('ZREM', blocked, unpack(ids))
  redis.call('ZREM', expiring, unpack(ids))
  local fields, members = {}, {}
  for i, id in ipairs(ids) do
    local run, text = unpack_run(raw_runs[i]), failed[id]
    remember_attempt(run, OUTCOME_FAILED, text)
    fields[2 * i - 1], fields[2 * i] = id, pack_run(run)
    members[2 * i - 1], members[2 * i] = now, id
    emit('dead', id, '0', '', '', string.sub(text, 1, 200))
    if run.depended > 0 then send(ended_message(id, 'dead', run.options)) end
  end
  redis.call('HSET', runs, unpack(fields))
  redis.call('ZADD', dead, unpack(members))
  count_stat('d', #ids)
end

-- Jobs that wait for nothing any more. → how many are ready
local function unblock(ids)
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  redis.call('ZREM', blocked, unpack(ids))
  local readied, fields, members, earliest = {}, {}, {}, math.huge
  for i, id in ipairs(ids) do
    local due_ms = run_due(raw_runs[i])
    if due_ms > now then
      members[#members + 1], members[#members + 2] = due_ms, id
      earliest = math.min(earliest, due_ms)
    else
      readied[#readied + 1] = id
      fields[#fields + 1], fields[#fields + 2] = id, with_due(raw_runs[i], now)
    end
  end
  if #members > 0 then
    redis.call('ZADD', delayed, unpack(members))
    expect_due(earliest)
  end
  if #readied > 0 then
    redis.call('HSET', runs, unpack(fields))
    local places = redis.call('HMGET', priorities, unpack(readied))
    for i, id in ipairs(readied) do
      put_ready(id, places[i])
      emit_line('ready\t' .. id .. '\t\t0\t\t\t\t')
    end
  end
  return #readied
end

-- The jobs, in the order of their last entries.
local ids, last = {}, {}
for i = REST, #ARGV, 3 do last[ARGV[i]] = i end
for i = REST, #ARGV, 3 do
  if last[ARGV[i]] == i then ids[#ids + 1] = ARGV[i] end
  note(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
local buried, freed, is_blocked = {}, {}, #ids > 0 and redis.call('ZMSCORE', blocked, unpack(ids)) or {}
for i, id in ipairs(ids) do
  local left = first_wait(id, '')
  if is_blocked[i] and failed[id] then
    buried[#buried + 1] = id
    if left then send(waits_message(id)) end
  elseif is_blocked[i] and is_freed[id] and not left then
    freed[#freed + 1] = id
  end
  if is_carried(id, is_blocked[i] and not failed[id], left) then
    carried[#carried + 1], carried[#carried + 2] = waits_message(id), added_message(id)
  end
end
if #carried > 0 then redis.call('ZREM', outgoing, unpack(carried)) end
if #buried > 0 then bury(buried) end
local readied = #freed > 0 and unblock(freed) or 0
if #sent > 0 then redis.call('ZADD', outgoing, unpack(sent)) end
if readied > 0 then wake_ready(readied) end
flush_events()
return {'ok', #buried + #freed, #sent / 2}
