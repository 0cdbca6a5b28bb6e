--{"name": "pause", "purpose": "makes a queue deliver nothing, or deliver again; it takes publishes meanwhile.", "keys": ["jobs", "keys", "flags", "due", "ends", "queues", "ready", "front", "prio", "waiting", "lines", "active"], "args": ["now_ms", "queue", "channel", "paused", "must_exist"], "rest": false, "replies": ["ok", "missing"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
if ARGV[4] == '1' and ARGV[5] == '1' and not redis.call('ZSCORE', KEYS[6], ARGV[2]) and not redis.call('ZSCORE', KEYS[12], ARGV[2]) and tonumber(redis.call('ZSCORE', KEYS[10], ARGV[2]) or 0) < now then
 return {
  'missing',
 }
end
local was = redis.call('HDEL', KEYS[3], 'p:' .. ARGV[2])
if ARGV[4] == '1' then
 redis.call('HSET', KEYS[3], 'p:' .. ARGV[2], now)
 redis.call('ZADD', KEYS[6], 0, ARGV[2])
 return {
  'ok',
  1 - was,
 }
end
local size
do
 local plain_size
 do
  local tombstones = tonumber(redis.call('HGET', KEYS[3], 't:' .. ARGV[2]) or 0)
  plain_size = redis.call('LLEN', KEYS[7]) + redis.call('LLEN', KEYS[8]) - tombstones + redis.call('ZCARD', KEYS[9])
 end
 size = plain_size + redis.call('ZCARD', KEYS[11])
end
if size > 0 then
 do
  local count = size
  local is_waited_for
  do
   local mark = redis.call('ZSCORE', KEYS[10], ARGV[2])
   is_waited_for = mark and tonumber(mark) > now
  end
  if is_waited_for then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count)
  end
 end
end
repeat
 if redis.call('EXISTS', KEYS[1]) == 1 then
  break
 end
 redis.call('DEL', KEYS[7], KEYS[8])
 redis.call('HDEL', KEYS[3], 't:' .. ARGV[2], 'h:' .. ARGV[2], 's:' .. ARGV[2], 'l:' .. ARGV[2])
 redis.call('ZREM', KEYS[4], ARGV[2])
 redis.call('ZREM', KEYS[5], ARGV[2])
 if redis.call('EXISTS', KEYS[2]) == 0 and redis.call('HEXISTS', KEYS[3], 'p:' .. ARGV[2]) == 0 then
  redis.call('ZREM', KEYS[6], ARGV[2])
 end
until true
return {
 'ok',
 was,
}
