-- What stands behind such a script (refuse_or_cut.lua). It counts last: a write before the script's own would open a full
-- Redis to those.
local ahead = counts[reply[1]]
if not ahead then return reply end
local counted = asked == 1 and 1 or #reply - ahead
local its = count_requests(counted, left, its_ticket)
return {'counted', its, reply, counted, counted == free and (left_ms or tonumber(interval)) or 0}
