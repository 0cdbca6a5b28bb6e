-- Whole cycles: publish a job, consume one, ack it. The URL names the queue. One connection per thread (-t N -c N), for
-- the state below is the thread's. Prints the acks of all threads as `cycles: N`.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  wrk.headers["X-Token"] = os.getenv("BENCH_TOKEN")
  local queue = wrk.path
  publish = wrk.format("PUT", queue .. "?tries=3", nil, string.rep("x", 100))
  consume = wrk.format("GET", queue .. "?ttr=60")
  local ack = wrk.format("DELETE", queue .. "/job/@")
  before, after = ack:match("^(.-)@(.*)$")
  following = publish
  cycles = 0
end

-- wrk calls this once more than it sends, so it must not move on by itself.
function request()
  return following
end

function response(status, headers, body)
  if status == 201 then
    following = consume
  elseif status == 200 then
    following = before .. body:match('"job_id":"([^"]+)"') .. after
  elseif status == 204 then
    cycles = cycles + 1
    following = publish
  end
end

function done(summary, latency, requests)
  local sum = 0
  for _, thread in ipairs(threads) do
    sum = sum + thread:get("cycles")
  end
  io.write(string.format("cycles: %d\n", sum))
end
