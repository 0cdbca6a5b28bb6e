-- clock: the one clock. `given` is a test's or caller's time in ms; "" means the Redis server's own (promise 3).
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
