-- list_workers: a page of the recent heartbeats of a namespace's workers. A worker may be on two pages.
-- KEYS
--   workers      zset     namespace/worker → time of its latest beat
--   beats        hash     namespace/worker → its record
-- ARGV
--   now_ms       ms or ""
--   forget       ms       heartbeats that are older are left out
--   cursor       "0" = from the beginning
--   few          workers  about so many are looked at
-- REPLIES
--   ok           now cursor [worker at record]...      cursor "0": there are no more
local found = redis.call('HSCAN', beats, cursor, 'COUNT', few)
local reply = {'ok', now, found[1]}
for i = 1, #found[2], 2 do
  local at = tonumber(redis.call('ZSCORE', workers, found[2][i]) or '')
  if at and at <= now and at > now - forget then
    reply[#reply + 1] = found[2][i]
    reply[#reply + 1] = at
    reply[#reply + 1] = found[2][i + 1]
  end
end
return reply
