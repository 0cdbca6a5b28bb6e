-- stage: writes records of a large publish ahead of it, a part of them in each call, so that no call takes long. Nobody
-- sees them: the jobs begin with publish_staged, which is given the same time. What is not published within a minute is
-- dropped by the sweeper.
-- KEYS
--   jobs         hash     the records
--   staged       zset     their ids
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
--   options      bytes     packed options, "" = all defaults
--   ...          the bodies
-- REPLIES
--   ok           now       the time that further calls for this publish are given
--   ttl_short              a job would expire before it is due; nothing was written
-- INCLUDES ids record registry expiry staged_records
now = now_up -- one time for all calls: they are given this one
local ttl_ms, wait = tonumber(ttl), tonumber(delay)
if at ~= '' then wait = tonumber(at) - now end
if ttl_ms > 0 and wait > ttl_ms then return {'ttl_short'} end
local head = pack_head(tonumber(tries), ttl_ms > 0 and now + ttl_ms or 0, wait > 0 and now + wait or nil, options)
local prefix, before_first = time_part() .. random, counter - REST
local records, members = {}, {}
for i = REST, #ARGV do
  local id = prefix .. counter_part(before_first + i)
  records[#records + 1] = id
  records[#records + 1] = head .. ARGV[i]
  members[#members + 1] = now
  members[#members + 1] = id
end
redis.call('ZADD', staged, unpack(members))
redis.call('HSET', jobs, unpack(records))
enrol(#ARGV - REST + 1)
schedule_sweep(now + STAGED_MAX_MS)
return {'ok', now}
