-- partition_load: how many queues a partition has, how far its indexes are behind, and its events. O(1).
-- KEYS
--   queues       zset     the registry
--   due          zset     index of due times
--   ends         zset     index of lease and retention ends
--   counters     hash     bytes of events, events dropped
--   events       stream   transitions
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now queues due_behind ends_behind bytes dropped dropped_lately dropped_at undrained   behind: ms since the earliest entry's time,
--                or 0; lately: since there was a day without drops; at: ms, or 0; undrained: ms since the oldest event that is in the stream, or 0
local function behind(index)
  local head = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
  return head[2] and math.max(0, now - tonumber(head[2])) or 0
end

-- Ids follow the clock of Redis; the script's clock may be another one in tests.
local function undrained()
  local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
  return oldest and math.max(0, now - tonumber(string.match(oldest[1], '^%d+'))) or 0
end

local stream = redis.call('HMGET', counters, 'events_bytes', 'events_dropped', 'events_dropped_before', 'events_dropped_at')
local dropped = tonumber(stream[2] or 0)
return {'ok', now, redis.call('ZCARD', queues), behind(due), behind(ends),
  tonumber(stream[1] or 0), dropped, dropped - tonumber(stream[3] or 0), tonumber(stream[4] or 0), undrained()}
