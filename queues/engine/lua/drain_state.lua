-- drain_state: whether a partition has events to be drained, and the plan under way. O(1). Ids are "" if there is none.
-- KEYS
--   events       stream   transitions
--   counters     hash     bytes of events
--   drain        hash     the plan
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now entries bytes oldest first last idle   oldest: id; idle: ms since the plan was worked on
--                (or until then, if the clock was put back)
local plan = redis.call('HMGET', drain, 'first', 'last', 'at')
local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
return {'ok', now, redis.call('XLEN', events), tonumber(redis.call('HGET', counters, 'events_bytes') or 0),
  oldest and oldest[1] or '', plan[1] or '', plan[2] or '', math.abs(now - (plan[3] or now))}
