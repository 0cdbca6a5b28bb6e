--{"name": "list_dependants", "purpose": "jobs of any queue that depend on jobs of this queue, in name order.", "keys": ["jobs", "dependants"], "args": ["low", "high", "policies", "lost", "limit"], "rest": false, "replies": ["ok"]}
local reply = {
 'ok',
 '',
}
local found = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[5])
for _, member in ipairs(found) do
 local target, its_policy = string.match(member, '^(.-)\t(%l)\t')
 local is_wanted = string.find(ARGV[3], its_policy, 1, true)
 if is_wanted and ARGV[4] == '1' then
  is_wanted = string.sub(target, 1, 1) ~= ':' and redis.call('HEXISTS', KEYS[1], target) == 0
 end
 if is_wanted then
  reply[#reply + 1] = member
 end
end
if #found == tonumber(ARGV[5]) then
 reply[2] = '(' .. found[#found]
end
return reply
