--{"name": "take_token_limit", "purpose": "counts one request against a token's allowance for the running interval, before it is carried out.", "keys": ["limit"], "args": ["allowance", "interval"], "rest": false, "replies": ["taken", "refused"]}
local left, its_ticket, left_ms
repeat
 local left_2, its_ticket_2, left_ms_2
 repeat
  local left_3, its_ticket_3 = string.match(redis.call('GET', KEYS[1]) or '', '^(%-?%d+) (%d+)$')
  local left_ms_3 = redis.call('PTTL', KEYS[1])
  if left_3 and left_ms_3 > 0 then
   left_2, its_ticket_2, left_ms_2 = tonumber(left_3), its_ticket_3, left_ms_3
   break
  end
 until true
 if left_2 and left_ms_2 <= tonumber(ARGV[2]) then
  left, its_ticket, left_ms = left_2, its_ticket_2, left_ms_2
  break
 end
until true
if left and left <= 0 then
 return {
  'refused',
  left_ms,
 }
end
local count_requests
do
 local left_4, its_ticket_4 = left, its_ticket
 if not left_4 then
  local time = redis.call('TIME')
  left_4, its_ticket_4 = ARGV[1], string.format('%.0f', time[1] * 1000000 + time[2] + ARGV[2] * 1000)
 end
 do
  local left_5, its_ticket_5 = left_4 - 1, its_ticket_4
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], left_5 .. ' ' .. its_ticket_5, 'PXAT', math.floor(its_ticket_5 / 1000))
 end
 count_requests = its_ticket_4
end
return {
 'taken',
 count_requests,
}
