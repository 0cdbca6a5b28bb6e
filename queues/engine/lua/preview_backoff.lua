-- preview_backoff: the waits of a backoff, as fail and reclaim compute them. Reads and changes nothing.
-- KEYS
--   pumps        hash     says which server answers; nothing of it is read
-- ARGV
--   kind         as in queues/engine/backoff.py
--   base         ms
--   longest      ms
--   attempts     how many
-- REPLIES
--   ok           (least ms, most ms) of each attempt, in whole ms
-- INCLUDES backoff
redis.call('EXISTS', pumps) -- a script has to use the keys that it is sent with
local reply = {'ok'}
for n = 1, attempts + 0 do
  local least, most = backoff_range(kind + 0, base + 0, longest + 0, n)
  reply[#reply + 1] = math.floor(least)
  reply[#reply + 1] = math.floor(most)
end
return reply
