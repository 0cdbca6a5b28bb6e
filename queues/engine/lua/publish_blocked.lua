-- publish_blocked: adds jobs that wait for others (edge C). All or nothing. What they wait for is told to these later:
-- `outgoing` says so. The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of each of them
--   expiring     zset     when they expire
--   keys         hash     idempotency keys
--   priorities   hash     priorities other than 0, places of limit keys
--   blocked      zset     gets them
--   waits        zset     what each waits for
--   dependants   zset     whether a job waits for one with the key
--   flags        hash     when to look through the keys
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   stats        hash     minutes
--   active       zset     who has counts
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets them, too
--   ready        list     jobs without a limit key
--   prio         zset     jobs without a limit key
--   lines        zset     ready jobs with limit keys
--   turns        zset     whose turn it is
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   random       13 characters, shared by the ids of this call
--   counter      number at which their last three characters begin
--   delay        ms
--   at           ms or ""  absolute due time instead of a delay
--   ttl          ms        0 = never expires
--   tries        number
--   priority     -100..100
--   options      bytes     packed options, "" = all defaults
--   key          "" or idempotency key (one job only)
--   key_ttl      ms        0 = for ever
--   policy       w, f or c: what the failure of a dependency means
--   open         1: more dependencies may be added (lua/add_dependencies.lua), else 0
--   number       of dependencies
--   ...          the dependencies, QUEUE/JOB_ID or QUEUE:KEY, then the bodies
-- REPLIES
--   ok           id ...    added, in the order of the bodies
--   duplicate    id        the key belongs to this job; nothing was added
--   ttl_short              the job would expire before it is due; nothing was added
-- COUNTS ok:1 duplicate:1
-- INCLUDES ids record run expiry keys registry events minute_counts line add outgoing
local MEMBERS_MAX = 2000 -- values of one call: unpack can do some 8,000
local untold = '?' .. policy
local ttl_ms, wait, first_body = tonumber(ttl), tonumber(delay), REST + tonumber(number)
local due_ms = wait > 0 and now_up + wait or now
if at ~= '' then
  due_ms = math.max(now, tonumber(at))
  wait = due_ms - now
end
if ttl_ms > 0 and wait > ttl_ms then return {'ttl_short'} end
local holder = key ~= '' and holder_of_key()
if holder then
  write_to_stream()
  return {'duplicate', holder}
end

local expires = ttl_ms > 0 and now + ttl_ms or 0
local head = pack_head(tonumber(tries), expires, wait > 0 and due_ms or nil, options)
local run = struct.pack(RUN, 0, 0, tries, is_key_awaited() and DEPENDED or 0, expires, due_ms, 0, #options, options, 0, '')
local prefix, before_first, count = time_part() .. random, counter - first_body, #ARGV - first_body + 1
local ids, records, new_runs, places, ends = {'ok'}, {}, {}, {}, {}
for i = first_body, #ARGV do
  local id = prefix .. counter_part(before_first + i)
  ids[#ids + 1] = id
  records[#records + 1], records[#records + 2] = id, head .. ARGV[i]
  new_runs[#new_runs + 1], new_runs[#new_runs + 2] = id, run
  places[#places + 1], places[#places + 2] = due_ms, id
  ends[#ends + 1], ends[#ends + 2] = expires, id
  emit_line('published\t' .. id .. '\t\t' .. (wait > 0 and wait or '') .. '\t\t' .. #ARGV[i] .. '\t\t')
end
redis.call('HSET', jobs, unpack(records))
redis.call('HSET', runs, unpack(new_runs))
redis.call('ZADD', blocked, unpack(places))
local members, messages = {}, {}
for i = 2, #ids do
  local head = ids[i] .. '\t'
  if open == '1' then members[#members + 1], members[#members + 2] = 0, head .. '+' .. policy end
  for j = REST, first_body - 1 do
    members[#members + 1], members[#members + 2] = 0, head .. untold .. ARGV[j]
    if #members >= MEMBERS_MAX then
      redis.call('ZADD', waits, unpack(members))
      members = {}
    end
  end
  messages[#messages + 1], messages[#messages + 2] = now, waits_message(ids[i])
end
if #members > 0 then redis.call('ZADD', waits, unpack(members)) end
redis.call('ZADD', outgoing, unpack(messages))
place_new(ids, true)
if expires > 0 then
  redis.call('ZADD', expiring, unpack(ends))
  schedule_sweep(expires)
end
if key ~= '' then hold_key(ids[2]) end
enrol(count)
count_stat('p', count)
flush_events()
return ids
