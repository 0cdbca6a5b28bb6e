--{"name": "live_jobs", "purpose": "jobs of one queue that are neither dead nor completed, and the newest event that had happened by then. O(1).", "keys": ["ready", "front", "prio", "delayed", "retry", "working", "flags", "blocked", "grouped", "lines", "batches", "events", "drain"], "args": ["now_ms", "queue"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function last_entry()
 local newest = redis.call('XREVRANGE', KEYS[12], '+', '-', 'COUNT', 1)[1]
 local drained = redis.call('HMGET', KEYS[13], 'last', 'done')
 return newest and newest[1] or drained[1] or drained[2] or '0-0'
end
if redis.call('EXISTS', KEYS[11]) == 1 then
 local last_entry_2
 do
  local newest_2 = redis.call('XREVRANGE', KEYS[12], '+', '-', 'COUNT', 1)[1]
  local drained_2 = redis.call('HMGET', KEYS[13], 'last', 'done')
  last_entry_2 = newest_2 and newest_2[1] or drained_2[1] or drained_2[2] or '0-0'
 end
 return {
  'ok',
  now,
  -1,
  last_entry_2,
 }
end
local ready_size
do
 local plain_size
 do
  local tombstones = tonumber(redis.call('HGET', KEYS[7], 't:' .. ARGV[2]) or 0)
  plain_size = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) - tombstones + redis.call('ZCARD', KEYS[3])
 end
 ready_size = plain_size + redis.call('ZCARD', KEYS[10])
end
return {
 'ok',
 now,
 ready_size + redis.call('ZCARD', KEYS[4]) + redis.call('ZCARD', KEYS[5]) + redis.call('ZCARD', KEYS[6]) + redis.call('ZCARD', KEYS[8]) + redis.call('ZCARD', KEYS[9]),
 last_entry(),
}
