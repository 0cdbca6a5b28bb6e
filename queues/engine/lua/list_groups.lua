-- list_groups: a page of the groups of a queue that fill, those that are flushed next first. Reads only.
-- KEYS
--   grouped      zset     members
--   gathered     zset     members by group
--   joining      zset     members with a delay
--   group_times  zset     when groups are flushed
--   group_sizes  hash     how full groups are
-- ARGV
--   now_ms       ms or ""
--   first        groups    that are passed over
--   number       groups    in the page
--   look         members   that are looked at: are they still there?
-- REPLIES
--   ok           now total joining group ...   total: groups; joining: members whose delay is not over; group: {name members
--                bytes first_ms last_ms most delay_max_ms grace_ms}
local reply = {'ok', now, redis.call('ZCARD', group_times), redis.call('ZCARD', joining)}
look = tonumber(look)
local names = redis.call('ZRANGE', group_times, first, first + number - 1)
for i, name in ipairs(names) do
  local count, bytes, first_at, last_at, _, most, delay_max, grace =
    struct.unpack('>I4I4I6I6I6HI6I6', redis.call('HGET', group_sizes, name))
  if count <= look then
    local entries, ids = redis.call('ZRANGEBYLEX', gathered, '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, count), {}
    for n, entry in ipairs(entries) do ids[n] = string.sub(entry, -26) end
    look = look - #ids
    count = 0
    for _, joined in ipairs(#ids > 0 and redis.call('ZMSCORE', grouped, unpack(ids)) or {}) do
      if joined then count = count + 1 end
    end
  end
  reply[i + 4] = {name, count, bytes, first_at, last_at, most, delay_max, grace}
end
return reply
