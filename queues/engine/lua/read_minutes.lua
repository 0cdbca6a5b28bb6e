-- read_minutes: the last whole minutes of a trend: of one queue (lib/trend), or summed up over many (add_minutes).
-- KEYS
--   minutes      hash     minute → row
-- ARGV
--   now_ms       ms or ""
--   count        minutes, at most 1,440
-- REPLIES
--   ok           now states rows   jobs by state as last seen, or nil; a row or nil for each minute, the earliest first
local last = math.floor(now / 60000) - 1
local names = {}
for minute = last - count + 1, last do names[#names + 1] = minute end
return {'ok', now, redis.call('HGET', minutes, 'g'), redis.call('HMGET', minutes, unpack(names))}
