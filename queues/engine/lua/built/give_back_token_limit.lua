--{"name": "give_back_token_limit", "purpose": "uncounts one request that got no job, failed, or whose client has gone; only within its own interval.", "keys": ["limit"], "args": ["ticket"], "rest": false, "replies": ["ok"]}
local left, its_ticket
repeat
 local left_2, its_ticket_2 = string.match(redis.call('GET', KEYS[1]) or '', '^(%-?%d+) (%d+)$')
 local left_ms = redis.call('PTTL', KEYS[1])
 if left_2 and left_ms > 0 then
  left, its_ticket = tonumber(left_2), its_ticket_2, left_ms
  break
 end
until true
if its_ticket == ARGV[1] then
 do
  local left_3, its_ticket_3 = left + 1, ARGV[1]
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], left_3 .. ' ' .. its_ticket_3, 'PXAT', math.floor(its_ticket_3 / 1000))
 end
end
return {
 'ok',
}
