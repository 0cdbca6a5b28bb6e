-- drain_state: whether a partition has events to be drained, and the plan under way. O(1). Ids are "" if there is none.
-- KEYS
--   events       stream   transitions
--   counters     hash     bytes of events, and those that they may take
--   drain        hash     the plan
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now entries bytes most oldest first last idle   most: bytes, 0: the equal share; oldest: id; idle: ms
--                since the plan was worked on (or until then, if the clock was put back)
local plan = redis.call('HMGET', drain, 'first', 'last', 'at')
local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
local memory = redis.call('HMGET', counters, 'events_bytes', 'events_most')
return {'ok', now, redis.call('XLEN', events), tonumber(memory[1] or 0), tonumber(memory[2] or 0),
  oldest and oldest[1] or '', plan[1] or '', plan[2] or '', math.abs(now - (plan[3] or now))}
