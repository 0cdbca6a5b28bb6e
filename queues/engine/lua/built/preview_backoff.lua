--{"name": "preview_backoff", "purpose": "the waits of a backoff, as fail and reclaim compute them. Reads and changes nothing.", "keys": ["pumps"], "args": ["kind", "base", "longest", "attempts"], "rest": false, "replies": ["ok"]}
redis.call('EXISTS', KEYS[1])
local reply = {
 'ok',
}
for n = 1, ARGV[4] + 0 do
 local least, most
 repeat
  local kind, base, cap = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
  if kind == 0 then
   least, most = 0, 0
   break
  end
  if kind == 1 then
   least, most = base, base
   break
  end
  if kind == 2 then
   local delay = math.min(base * n, 4294967295000)
   least, most = delay, delay
   break
  end
  if kind == 3 then
   local full = math.min(cap, base * 2 ^ math.min(n - 1, 63))
   least, most = full / 2, full
   break
  end
  local retries = n - 1
  local least_2 = math.min((retries ^ 4 + 15) * 1000, 4294967295000)
  least, most = least_2, math.min(least_2 + 30000 * (retries + 1), 4294967295000)
 until true
 reply[#reply + 1] = math.floor(least)
 reply[#reply + 1] = math.floor(most)
end
return reply
