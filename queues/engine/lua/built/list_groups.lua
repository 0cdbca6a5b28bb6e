--{"name": "list_groups", "purpose": "a page of the groups of a queue that fill, those that are flushed next first. Reads only.", "keys": ["grouped", "gathered", "joining", "group_times", "group_sizes"], "args": ["now_ms", "first", "number", "look"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local reply = {
 'ok',
 now,
 redis.call('ZCARD', KEYS[4]),
 redis.call('ZCARD', KEYS[3]),
}
ARGV[4] = tonumber(ARGV[4])
local names = redis.call('ZRANGE', KEYS[4], ARGV[2], ARGV[2] + ARGV[3] - 1)
for i, name in ipairs(names) do
 local count, bytes, first_at, last_at, _, most, delay_max, grace = struct.unpack('>I4I4I6I6I6HI6I6', redis.call('HGET', KEYS[5], name))
 if count <= ARGV[4] then
  local entries, ids = redis.call('ZRANGEBYLEX', KEYS[2], '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, count), {
  }
  for n, entry in ipairs(entries) do
   ids[n] = string.sub(entry, -26)
  end
  ARGV[4] = ARGV[4] - #ids
  count = 0
  for __2, joined in ipairs(#ids > 0 and redis.call('ZMSCORE', KEYS[1], unpack(ids)) or {
  }) do
   if joined then
    count = count + 1
   end
  end
 end
 reply[i + 4] = {
  name,
  count,
  bytes,
  first_at,
  last_at,
  most,
  delay_max,
  grace,
 }
end
return reply
