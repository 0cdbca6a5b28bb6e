--{"name": "list_waits", "purpose": "what blocked jobs wait for, in name order: of one job, or of all those that are not blocked any more.", "keys": ["runs", "keys", "blocked", "waits", "staged"], "args": ["id", "key", "low", "high", "only", "limit"], "rest": false, "replies": ["ok"]}
local function key_of(options)
 if options == '' then
  return ''
 end
 local _, __2, __3, __4, its_key = struct.unpack('>I6BI6I6Hc0', options)
 return its_key
end
local its_key_2, is_blocked, from, to = '', 0, ARGV[3], ARGV[4]
if ARGV[2] ~= '' then
 local value = redis.call('HGET', KEYS[2], ARGV[2])
 ARGV[1] = value and string.sub(value, 7, 32) or ''
 if ARGV[1] == '' then
  return {
   'ok',
   '',
   0,
   '',
   0,
   '',
  }
 end
end
if ARGV[1] ~= '' then
 if redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  local raw = redis.call('HGET', KEYS[1], ARGV[1])
  is_blocked, its_key_2 = string.byte(raw, 9) >= 4 + 8 and 2 or 1, key_of((struct.unpack('>Hc0', raw, 28)))
 end
 if is_blocked == 0 then
  ARGV[5] = ''
 end
 from, to = '[' .. ARGV[1] .. '\t' .. ARGV[5], ARGV[5] == '' and '(' .. ARGV[1] .. '\n' or '(' .. ARGV[1] .. '\t' .. ARGV[5] .. '\255'
end
local found = redis.call('ZRANGEBYLEX', KEYS[4], from, to, 'LIMIT', 0, ARGV[6])
local total = ARGV[1] ~= '' and redis.call('ZLEXCOUNT', KEYS[4], '[' .. ARGV[1] .. '\t', '(' .. ARGV[1] .. '\n') or #found
local reply = {
 'ok',
 ARGV[1],
 is_blocked,
 its_key_2,
 total,
 #found == tonumber(ARGV[6]) and '(' .. found[#found] or '',
}
for __5, member in ipairs(found) do
 local its_id = string.sub(member, 1, 26)
 if ARGV[1] ~= '' or not (redis.call('ZSCORE', KEYS[3], its_id) or redis.call('ZSCORE', KEYS[5], its_id)) then
  reply[#reply + 1] = member
 end
end
return reply
