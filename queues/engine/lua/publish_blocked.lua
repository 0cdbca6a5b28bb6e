-- publish_blocked: adds jobs that wait for others (edge C). All or nothing. They are subscribed to their dependencies
-- later, by the messages in `outgoing`. The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   jobs         hash     the records
--   runs         hash     of each of them
--   expiring     zset     when they expire
--   keys         hash     idempotency keys
--   priorities   hash     priorities other than 0, places of limit keys
--   blocked      zset     gets the jobs
--   waits        zset     what each waits for
--   dependants   zset     whether a job waits for one with the key
--   flags        hash     when to look through the keys
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets a message for each
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
-- INCLUDES ids record run expiry_horizon keys registry events minute_counts ready_places add blocked
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
local prefix, before_first = time_part() .. random, counter - first_body
local ids, records, new_runs, sizes = {'ok'}, {}, {}, {}
for i = first_body, #ARGV do
  local id = prefix .. counter_part(before_first + i)
  ids[#ids + 1] = id
  sizes[#sizes + 1] = #ARGV[i]
  records[#records + 1], records[#records + 2] = id, head .. ARGV[i]
  new_runs[#new_runs + 1], new_runs[#new_runs + 2] = id, run
end
redis.call('HSET', jobs, unpack(records))
redis.call('HSET', runs, unpack(new_runs))
note_places_ahead(ids)
note_dependencies(ids, REST, first_body - 1)
begin_blocked(ids, sizes, due_ms, wait, expires)
if key ~= '' then hold_key(ids[2]) end
enrol(#sizes)
flush_events()
return ids
