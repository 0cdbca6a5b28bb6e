-- beat: notes that a pump lives, and forgets those that have not been heard of for long. Bounded: at most `most` are kept.
-- A beat later than now was sent before the clock was put back: it is forgotten, and a pump that lives beats again at once.
-- The first write frees, so it goes on when Redis is full.
-- KEYS
--   pumps        hash     pump id → time of its latest beat, a blank, its record
-- ARGV
--   now_ms       ms or ""
--   pump         id of the pump
--   record       bytes    its heartbeat (queues/engine/stats/heartbeats.py)
--   forget       ms       after which a silent pump is forgotten
--   most         pumps    that are kept: those silent for longest are forgotten
-- REPLIES
--   ok           kept     number of pumps that are known
redis.call('HDEL', pumps, pump)
redis.call('HSET', pumps, pump, string.format('%.0f', now) .. ' ' .. record)
local known = redis.call('HGETALL', pumps)
local beats = {}
for i = 1, #known, 2 do beats[#beats + 1] = {tonumber(string.match(known[i + 1], '^%d+')) or 0, known[i]} end
table.sort(beats, function(a, b) return a[1] > b[1] end)
local kept = 0
for place, one in ipairs(beats) do
  if place > tonumber(most) or one[1] <= now - tonumber(forget) or one[1] > now then
    redis.call('HDEL', pumps, one[2])
  else
    kept = kept + 1
  end
end
return {'ok', kept}
