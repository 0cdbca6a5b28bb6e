-- Consumes; how many at a time stands in the URL. Nothing is acked: the jobs stay with their leases, to be counted.
wrk.method = "GET"
wrk.headers["X-Token"] = os.getenv("BENCH_TOKEN")
