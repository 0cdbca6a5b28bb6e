-- publish_nodes: adds jobs of a workflow under ids that were given to them before (edges A, B and C). A job that is there is left
-- as it is, so repeating it changes nothing. The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of each of them
--   expiring     zset     when they expire
--   priorities   hash     priorities other than 0, places of limit keys
--   ready        list     jobs that wait for nothing
--   prio         zset     the same, other priorities
--   delayed      zset     jobs that are due later
--   blocked      zset     jobs that wait for others
--   waits        zset     what each waits for
--   dependants   zset     gets those that depend on them, the workflow among these
--   flags        hash     the horizon of expiry
--   due          zset     index of due times
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets a message for each job that is not subscribed yet
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   deadline     ms        after which nothing is added: the caller asks again whether the jobs were published
--   delay        ms
--   at           ms or ""  absolute due time instead of a delay
--   ttl          ms        0 = never expires
--   tries        number
--   priority     -100..100
--   options      bytes     packed options
--   ...          for each: id; number of waits; number of dependants; the waits (lib/waits.lua), state first; the dependants
--                (lua/subscribe.lua) from their policy on; body
-- REPLIES
--   ok           number    of jobs that were added
--   late
-- INCLUDES record run ready_places wake due expiry_horizon registry events minute_counts outgoing
local UNKNOWN = 63 -- a question mark
local ttl_ms, wait = tonumber(ttl), tonumber(delay)
if now > tonumber(deadline) then return {'late'} end
local due_ms = wait > 0 and now_up + wait or now
if at ~= '' then
  due_ms = math.max(now, tonumber(at))
  wait = due_ms - now
end
local expires = ttl_ms > 0 and now + ttl_ms or 0
local head = pack_head(tonumber(tries), expires, wait > 0 and due_ms or nil, options)
local run = struct.pack(RUN, 0, 0, tries, DEPENDED + NODE, expires, due_ms, 0, #options, options, 0, '')
local added, held, free = 0, {''}, {''}

local function add(id, first_wait, first_dependant, last)
  redis.call('HSET', jobs, id, head .. ARGV[last + 1])
  redis.call('HSET', runs, id, run)
  added = added + 1
  local members = {}
  for i = first_dependant, last do members[#members + 1], members[#members + 2] = 0, id .. '\t' .. ARGV[i] end
  redis.call('ZADD', dependants, unpack(members))
  emit_line('published\t' .. id .. '\t\t' .. (wait > 0 and wait or '') .. '\t\t' .. #ARGV[last + 1] .. '\t\t')
  if first_dependant == first_wait then
    free[#free + 1] = id
    return
  end
  held[#held + 1] = id
  redis.call('ZADD', blocked, due_ms, id)
  local its_waits, is_told = {}, true
  for i = first_wait, first_dependant - 1 do
    its_waits[#its_waits + 1], its_waits[#its_waits + 2] = 0, id .. '\t' .. ARGV[i]
    is_told = is_told and string.byte(ARGV[i]) ~= UNKNOWN
  end
  redis.call('ZADD', waits, unpack(its_waits))
  if not is_told then note_waits(id) end
end

local i = REST
while i <= #ARGV do
  local first_dependant = i + 3 + tonumber(ARGV[i + 1])
  local last = first_dependant + tonumber(ARGV[i + 2]) - 1
  if redis.call('HEXISTS', jobs, ARGV[i]) == 0 then add(ARGV[i], i + 3, first_dependant, last) end
  i = last + 2
end
if #held > 1 then
  place_new(held, true)
  if expires > 0 then
    local ends = {}
    for j = 2, #held do ends[#ends + 1], ends[#ends + 2] = expires, held[j] end
    redis.call('ZADD', expiring, unpack(ends))
    schedule_sweep(expires)
  end
end
if #free > 1 then
  if expires > 0 then
    local horizon = expect_expiry(expires, due_ms, free, 2)
    if horizon then expect_scan(horizon, redis.call('HLEN', jobs), #free - 1) end
  end
  place_new(free, wait > 0)
  if wait > 0 then
    local members = {}
    for j = 2, #free do members[#members + 1], members[#members + 2] = due_ms, free[j] end
    redis.call('ZADD', delayed, unpack(members))
    expect_due(due_ms)
  else
    wake_ready(#free - 1)
  end
end
if added > 0 then
  enrol(added)
  count_stat('p', added)
  flush_events()
end
return {'ok', added}
