-- Publishes one job of 100 bytes per request. The URL carries queue and options, BENCH_TOKEN the token.
wrk.method = "PUT"
wrk.headers["X-Token"] = os.getenv("BENCH_TOKEN")
wrk.body = string.rep("x", 100)
