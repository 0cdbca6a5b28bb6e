--{"name": "drop_staged", "purpose": "drops bodies of nodes that were staged and not added (lua/stage_nodes.lua), some at a time. The first write frees.", "keys": ["workflow", "pending", "unpublished", "workflows"], "args": ["now_ms", "name", "keep", "cursor"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local last_part = ''
local last_time = 0
local next_cursor = '0'
if redis.call('EXISTS', KEYS[3]) == 0 then
 local found = redis.call('HSCAN', KEYS[2], ARGV[4], 'COUNT', 8)
 next_cursor = found[1]
 for i = 1, #found[2], 2 do
  local id_time
  repeat
   local id = found[2][i]
   local part = string.sub(id, 1, 10)
   if part == last_part then
    id_time = last_time
    break
   end
   local a, b, c, d, e, f, g, h, i_2, j = string.byte(part, 1, 10)
   local value_of
   repeat
    if a < 58 then
     value_of = a - 48
     break
    end
    if a < 73 then
     value_of = a - 55
     break
    end
    if a < 76 then
     value_of = a - 56
     break
    end
    if a < 79 then
     value_of = a - 57
     break
    end
    if a < 85 then
     value_of = a - 58
     break
    end
    value_of = a - 59
   until true
   local value_of_2
   repeat
    if b < 58 then
     value_of_2 = b - 48
     break
    end
    if b < 73 then
     value_of_2 = b - 55
     break
    end
    if b < 76 then
     value_of_2 = b - 56
     break
    end
    if b < 79 then
     value_of_2 = b - 57
     break
    end
    if b < 85 then
     value_of_2 = b - 58
     break
    end
    value_of_2 = b - 59
   until true
   local value_of_3
   repeat
    if c < 58 then
     value_of_3 = c - 48
     break
    end
    if c < 73 then
     value_of_3 = c - 55
     break
    end
    if c < 76 then
     value_of_3 = c - 56
     break
    end
    if c < 79 then
     value_of_3 = c - 57
     break
    end
    if c < 85 then
     value_of_3 = c - 58
     break
    end
    value_of_3 = c - 59
   until true
   local value_of_4
   repeat
    if d < 58 then
     value_of_4 = d - 48
     break
    end
    if d < 73 then
     value_of_4 = d - 55
     break
    end
    if d < 76 then
     value_of_4 = d - 56
     break
    end
    if d < 79 then
     value_of_4 = d - 57
     break
    end
    if d < 85 then
     value_of_4 = d - 58
     break
    end
    value_of_4 = d - 59
   until true
   local value_of_5
   repeat
    if e < 58 then
     value_of_5 = e - 48
     break
    end
    if e < 73 then
     value_of_5 = e - 55
     break
    end
    if e < 76 then
     value_of_5 = e - 56
     break
    end
    if e < 79 then
     value_of_5 = e - 57
     break
    end
    if e < 85 then
     value_of_5 = e - 58
     break
    end
    value_of_5 = e - 59
   until true
   local high = (((value_of * 32 + value_of_2) * 32 + value_of_3) * 32 + value_of_4) * 32 + value_of_5
   last_part = part
   local value_of_6
   repeat
    if f < 58 then
     value_of_6 = f - 48
     break
    end
    if f < 73 then
     value_of_6 = f - 55
     break
    end
    if f < 76 then
     value_of_6 = f - 56
     break
    end
    if f < 79 then
     value_of_6 = f - 57
     break
    end
    if f < 85 then
     value_of_6 = f - 58
     break
    end
    value_of_6 = f - 59
   until true
   local value_of_7
   repeat
    if g < 58 then
     value_of_7 = g - 48
     break
    end
    if g < 73 then
     value_of_7 = g - 55
     break
    end
    if g < 76 then
     value_of_7 = g - 56
     break
    end
    if g < 79 then
     value_of_7 = g - 57
     break
    end
    if g < 85 then
     value_of_7 = g - 58
     break
    end
    value_of_7 = g - 59
   until true
   local value_of_8
   repeat
    if h < 58 then
     value_of_8 = h - 48
     break
    end
    if h < 73 then
     value_of_8 = h - 55
     break
    end
    if h < 76 then
     value_of_8 = h - 56
     break
    end
    if h < 79 then
     value_of_8 = h - 57
     break
    end
    if h < 85 then
     value_of_8 = h - 58
     break
    end
    value_of_8 = h - 59
   until true
   local value_of_9
   repeat
    if i_2 < 58 then
     value_of_9 = i_2 - 48
     break
    end
    if i_2 < 73 then
     value_of_9 = i_2 - 55
     break
    end
    if i_2 < 76 then
     value_of_9 = i_2 - 56
     break
    end
    if i_2 < 79 then
     value_of_9 = i_2 - 57
     break
    end
    if i_2 < 85 then
     value_of_9 = i_2 - 58
     break
    end
    value_of_9 = i_2 - 59
   until true
   local value_of_10
   repeat
    if j < 58 then
     value_of_10 = j - 48
     break
    end
    if j < 73 then
     value_of_10 = j - 55
     break
    end
    if j < 76 then
     value_of_10 = j - 56
     break
    end
    if j < 79 then
     value_of_10 = j - 57
     break
    end
    if j < 85 then
     value_of_10 = j - 58
     break
    end
    value_of_10 = j - 59
   until true
   last_time = ((((high * 32 + value_of_6) * 32 + value_of_7) * 32 + value_of_8) * 32 + value_of_9) * 32 + value_of_10
   id_time = last_time
  until true
  if id_time + tonumber(ARGV[3]) <= now then
   redis.call('HDEL', KEYS[2], found[2][i])
  end
 end
end
local left = redis.call('HLEN', KEYS[2])
if left == 0 and redis.call('EXISTS', KEYS[1]) == 0 then
 redis.call('ZREM', KEYS[4], ARGV[2])
end
return {
 'ok',
 next_cursor,
 left,
}
