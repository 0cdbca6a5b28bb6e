--{"name": "read_worker", "purpose": "the latest heartbeat of one worker. lua/list_workers.lua reads those of all workers.", "keys": ["workers", "beats"], "args": ["now_ms", "worker", "forget"], "rest": false, "replies": ["ok", "unknown"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local at = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[2]) or '')
if not at or at > now or at <= now - ARGV[3] then
 return {
  'unknown',
 }
end
return {
 'ok',
 now,
 at,
 redis.call('HGET', KEYS[2], ARGV[2]) or '',
}
