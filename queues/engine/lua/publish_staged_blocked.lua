-- publish_staged_blocked: begins jobs that wait for others, whose records have been staged (edge C). All or nothing.
-- The first write frees, the next needs memory: on a full Redis staging has failed before.
-- KEYS
--   staged       zset     their ids
--   expiring     zset     which waiting jobs expire soon
--   sweeps       zset     when the sweeper has work
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   blocked      zset     where they go
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
--   ...          the sizes of the bodies
-- REPLIES
--   ok           id ...    added, in the order of the bodies
--   gone                   the records are not all there any more; nothing was added
-- COUNTS ok:1
-- INCLUDES ids blocked
local due_ms = at ~= '' and math.max(now, tonumber(at)) or now + delay
local ids, sizes, prefix, before_first = {'ok'}, {}, time_part() .. random, counter - REST
for i = REST, #ARGV do
  ids[#ids + 1] = prefix .. counter_part(before_first + i)
  sizes[#sizes + 1] = ARGV[i]
end
for _, score in ipairs(redis.call('ZMSCORE', staged, unpack(ids, 2))) do
  if not score then return {'gone'} end
end
redis.call('ZREM', staged, unpack(ids, 2))
begin_blocked(ids, sizes, due_ms, due_ms - now, tonumber(ttl) > 0 and now + ttl or 0)
flush_events()
return ids
