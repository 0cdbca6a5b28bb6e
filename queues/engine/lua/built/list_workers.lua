--{"name": "list_workers", "purpose": "a page of the recent heartbeats of a namespace's workers. A worker may be on two pages.", "keys": ["workers", "beats"], "args": ["now_ms", "forget", "cursor", "few"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local found = redis.call('HSCAN', KEYS[2], ARGV[3], 'COUNT', ARGV[4])
local reply = {
 'ok',
 now,
 found[1],
}
for i = 1, #found[2], 2 do
 local at = tonumber(redis.call('ZSCORE', KEYS[1], found[2][i]) or '')
 if at and at <= now and at > now - ARGV[2] then
  reply[#reply + 1] = found[2][i]
  reply[#reply + 1] = at
  reply[#reply + 1] = found[2][i + 1]
 end
end
return reply
