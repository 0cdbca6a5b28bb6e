--{"name": "forget_waits", "purpose": "drops the waits of jobs that are not blocked any more, once these are unsubscribed from their dependencies.", "keys": ["blocked", "waits", "staged", "outgoing"], "args": ["now_ms", "queue", "id", "message"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
for i = 5, #ARGV do
 local its_id = string.sub(ARGV[i], 1, 26)
 if not (redis.call('ZSCORE', KEYS[1], its_id) or redis.call('ZSCORE', KEYS[3], its_id)) then
  redis.call('ZREM', KEYS[2], ARGV[i])
 end
end
if ARGV[3] ~= '' then
 do
  local id = ARGV[3]
  local is_carried
  do
   local is_blocked, left = redis.call('ZSCORE', KEYS[1], id), redis.call('ZRANGEBYLEX', KEYS[2], '[' .. id .. '\t' .. '', '' == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. '' .. '\255', 'LIMIT', 0, 1)[1]
   is_carried = not left or is_blocked and not redis.call('ZRANGEBYLEX', KEYS[2], '[' .. id .. '\t' .. '?', '?' == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. '?' .. '\255', 'LIMIT', 0, 1)[1]
  end
  if is_carried then
   redis.call('ZREM', KEYS[4], ('waits\t' .. ARGV[2] .. '\t' .. id), ('added\t' .. ARGV[2] .. '\t' .. id))
  end
 end
end
if ARGV[4] ~= '' then
 redis.call('ZREM', KEYS[4], ARGV[4])
end
return {
 'ok',
}
