-- stage: writes records of a large publish ahead of it, a part of them in each call, so that no call takes long. They
-- are not visible: the jobs begin with publish_staged or publish_staged_blocked, which is given the same time. Records
-- that are not published within a minute are dropped by the sweeper.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of jobs that will be blocked
--   waits        zset     what these will wait for
--   priorities   hash     their priorities other than 0, or places
--   staged       zset     their ids
--   flags        hash     number of places in lines
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   random       13 characters, shared by the ids of this publish
--   counter      number at which the last three characters of this part's ids begin
--   delay        ms
--   at           ms or ""  absolute due time instead of a delay
--   ttl          ms        0 = never expires
--   tries        number
--   priority     -100..100
--   options      bytes     packed options, "" = all defaults
--   policy       w, f or c: what the failure of a dependency means; "": they will not be blocked
--   open         1: more dependencies may be added (lua/add_dependencies.lua), else 0
--   number       of dependencies
--   ...          the dependencies, QUEUE/JOB_ID or QUEUE:KEY, then the bodies
-- REPLIES
--   ok           now       the time that further calls for this publish are given
--   ttl_short              a job would expire before it is due; nothing was written
-- INCLUDES ids record run registry expiry_horizon staged_records ready_places blocked
now = now_up -- one time for all calls: they are given this one
local ttl_ms, wait = tonumber(ttl), tonumber(delay)
if at ~= '' then wait = tonumber(at) - now end
if ttl_ms > 0 and wait > ttl_ms then return {'ttl_short'} end
local head = pack_head(tonumber(tries), ttl_ms > 0 and now + ttl_ms or 0, wait > 0 and now + wait or nil, options)
local first_body = REST + tonumber(number)
local prefix, before_first = time_part() .. random, counter - first_body
local records, members, ids, new_runs = {}, {}, {'ok'}, {}
local due_ms = at ~= '' and math.max(now, tonumber(at)) or now + wait
local its_run = struct.pack(RUN, 0, 0, tries, 0, ttl_ms > 0 and now + ttl_ms or 0, due_ms, 0, #options, options, 0, '')
for i = first_body, #ARGV do
  local id = prefix .. counter_part(before_first + i)
  ids[#ids + 1] = id
  records[#records + 1], records[#records + 2] = id, head .. ARGV[i]
  members[#members + 1], members[#members + 2] = now, id
  new_runs[#new_runs + 1], new_runs[#new_runs + 2] = id, its_run
end
redis.call('ZADD', staged, unpack(members))
redis.call('HSET', jobs, unpack(records))
if policy ~= '' then
  redis.call('HSET', runs, unpack(new_runs))
  note_dependencies(ids, REST, first_body - 1)
end
note_places_ahead(ids)
enrol(#ids - 1)
schedule_sweep(now + STAGED_MAX_MS)
return {'ok', now}
