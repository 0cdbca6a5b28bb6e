-- What stands before a script that serves a token whose requests are limited (tools/lua/build.py, queues/engine/scripts.py):
-- refuses the call, or cuts it down to the requests that are left. lib/token_limit.lua keeps the count.
local left, its_ticket, left_ms = current_interval()
local free = left or tonumber(allowance)
if free <= 0 then return {'limited', left_ms} end
local asked = tonumber(requests)
if asked > free then
  for i = #ARGV, #ARGV - (asked - free) + 1, -1 do ARGV[i] = nil end
end
