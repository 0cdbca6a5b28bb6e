-- read_minutes: whole minutes of a trend: of one queue (lib/trend), or summed up over many (add_minutes), of which whole
-- five minutes can be read as well.
-- KEYS
--   minutes      hash     minute → row
-- ARGV
--   now_ms       ms or ""
--   count        rows, at most 1,440
--   step         minutes of a row: 1, or of sums 5
--   until_ms     ms, where the last row ends at the latest; "" = now
-- REPLIES
--   ok           end_ms states rows   where the last row ends; jobs by state as last seen, or nil; a row or nil each, the earliest first
local rows_end = math.floor(math.min(tonumber(until_ms) or now, now) / 60000 / step)
local prefix = step == '5' and 'f' or ''
local names = {}
for place = rows_end - count, rows_end - 1 do names[#names + 1] = prefix .. string.format('%d', place) end
local last_seen = until_ms == '' and redis.call('HGET', minutes, 'g') or false
return {'ok', rows_end * step * 60000, last_seen, redis.call('HMGET', minutes, unpack(names))}
