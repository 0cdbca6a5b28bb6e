--{"name": "extend", "purpose": "gives a working job a new lease that ends `ttr` from now.", "keys": ["runs", "working", "ends"], "args": ["now_ms", "queue", "id", "attempt", "ttr"], "rest": false, "replies": ["ok", "lost"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local value = redis.call('ZSCORE', KEYS[2], ARGV[3])
if value then
 local unpack_run
 do
  local raw = redis.call('HGET', KEYS[1], ARGV[3])
  local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
  unpack_run = {
   attempt = attempt,
   used = used,
   tries = tries,
   marks = marks % 4,
   depended = marks - marks % 4,
   expires = expires,
   due = due_ms,
   taken = taken,
   options = options,
   consumer = consumer,
   history = string.sub(raw, at),
  }
 end
 value = unpack_run
end
local run = value
if not run or (ARGV[4] ~= '' and run.attempt ~= tonumber(ARGV[4])) then
 return {
  'lost',
 }
end
local lease_end = now + tonumber(ARGV[5])
redis.call('ZREM', KEYS[2], ARGV[3])
redis.call('ZADD', KEYS[2], lease_end, ARGV[3])
do
 local unused = redis.call('ZADD', KEYS[3], 'LT', 'CH', lease_end, ARGV[2]) == 1
end
return {
 'ok',
 lease_end,
}
