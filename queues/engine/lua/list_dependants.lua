-- list_dependants: jobs of any queue that depend on jobs of this queue, in name order.
-- KEYS
--   jobs         hash     which are still there
--   dependants   zset     jobs that depend on them
-- ARGV
--   low          bound, as ZRANGEBYLEX takes it
--   high         the same
--   policies     only those with one of these
--   lost         1 = only of jobs that are gone, else 0
--   limit        members
-- REPLIES
--   ok           next member ...   next: the bound from which to go on, "" at the end
local reply = {'ok', ''}
local found = redis.call('ZRANGEBYLEX', dependants, low, high, 'LIMIT', 0, limit)
for _, member in ipairs(found) do
  local target, its_policy = string.match(member, '^(.-)\t(%l)\t')
  local is_wanted = string.find(policies, its_policy, 1, true)
  if is_wanted and lost == '1' then
    is_wanted = string.sub(target, 1, 1) ~= ':' and redis.call('HEXISTS', jobs, target) == 0
  end
  if is_wanted then reply[#reply + 1] = member end
end
if #found == tonumber(limit) then reply[2] = '(' .. found[#found] end
return reply
