--{"name": "add_dependencies", "purpose": "has an open job (lib/waits.lua) wait for more jobs. All or nothing; repeating it changes nothing.", "keys": ["jobs", "blocked", "waits", "outgoing"], "args": ["now_ms", "queue", "id", "most"], "rest": true, "replies": ["ok", "closed", "missing", "full"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local value = redis.call('ZSCORE', KEYS[2], ARGV[3])
if value then
 local open_mark
 do
  local id = ARGV[3]
  local first = redis.call('ZRANGEBYLEX', KEYS[3], '[' .. id .. '\t' .. '', '' == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. '' .. '\255', 'LIMIT', 0, 1)[1]
  open_mark = first and #first == #id + 3 and first or nil
 end
 value = open_mark
end
local mark = value
if not mark then
 return {
  redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 and 'closed' or 'missing',
 }
end
local head, wait, known = ARGV[3] .. '\t', string.sub(mark, -1), {
}
for i = 5, #ARGV do
 local text = wait .. ARGV[i]
 known[#known + 1] = head .. '?' .. text
 known[#known + 1] = head .. '+' .. text
 known[#known + 1] = head .. '-' .. text
end
local scores, fresh = redis.call('ZMSCORE', KEYS[3], unpack(known)), {
}
for i_2 = 1, #known, 3 do
 if not (scores[i_2] or scores[i_2 + 1] or scores[i_2 + 2]) then
  fresh[#fresh + 1] = 0
  fresh[#fresh + 1] = known[i_2]
 end
end
local added, total = #fresh / 2, redis.call('ZLEXCOUNT', KEYS[3], '[' .. head, '(' .. ARGV[3] .. '\n') - 1
if added > 0 and total + added > tonumber(ARGV[4]) then
 return {
  'full',
 }
end
if added > 0 then
 redis.call('ZADD', KEYS[3], unpack(fresh))
 do
  local message = ('added\t' .. ARGV[2] .. '\t' .. ARGV[3])
  redis.call('ZADD', KEYS[4], now, message)
 end
end
return {
 'ok',
 added,
 total + added,
}
