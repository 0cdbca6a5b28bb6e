-- Publishes BENCH_BULK jobs per request, each of 100 bytes with the quotes of its JSON text.
wrk.method = "PUT"
wrk.headers["X-Token"] = os.getenv("BENCH_TOKEN")
local job = '"' .. string.rep("x", 98) .. '"'
wrk.body = "[" .. string.rep(job .. ",", tonumber(os.getenv("BENCH_BULK")) - 1) .. job .. "]"
