-- lend_events: how many bytes a partition's events may take, other than its equal share, as the drain has divided the
-- pool's memory (operations/event_memory.py). The first write frees, so that a full Redis lets the next one through.
-- KEYS
--   counters     hash     gets `events_most`
-- ARGV
--   most         bytes; "": its equal share again
-- REPLIES
--   ok
redis.call('HDEL', counters, 'events_most')
if most ~= '' then redis.call('HSET', counters, 'events_most', most) end
return {'ok'}
