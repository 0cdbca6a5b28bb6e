-- read_events: a page of a partition's stream, oldest first.
-- KEYS
--   events       stream   transitions
-- ARGV
--   from         id, `(` and id (from behind it), or `-`
--   to           id or `+`
--   limit        entries
-- REPLIES
--   ok           id t q e ...   of each entry: id, time, namespace/queue, lines
local reply = {'ok'}
for i, entry in ipairs(redis.call('XRANGE', events, from, to, 'COUNT', limit)) do
  local fields = entry[2]
  local place = 4 * i
  reply[place - 2], reply[place - 1], reply[place], reply[place + 1] = entry[1], fields[2], fields[4], fields[8]
end
return reply
