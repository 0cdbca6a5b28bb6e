"""What wrk and redis-benchmark print is read right, and a run with failed requests has no figures."""

from __future__ import annotations

import pytest

from bench import load, redis_benchmark
from bench.tools import MissingToolError, VoidRunError, need

WRK = """Running 8s test @ http://127.0.0.1:35781/api/demo/measured?tries=3
  2 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.41ms    1.07ms  31.20ms   88.12%
    Req/Sec     6.70k   512.44     7.61k    70.62%
  Latency Distribution
     50%  812.00us
     75%    2.71ms
     90%    3.42ms
     99%    1.02s 
  106703 requests in 8.01s, 25.54MB read
Requests/sec:  13321.22
Transfer/sec:      3.19MB
"""  # noqa: W291  wrk ends some of its lines with a space

REDIS_BENCHMARK = (
    "SET: rps=0.0 (overall: nan) avg_msec=nan (overall: nan)\r                              \r"
    "SET: rps=167688.0 (overall: 154018.4) avg_msec=0.104 (overall: 0.112)\r                \r"
    "SET: 154440.16 requests per second, p50=0.111 msec\n\n"
)


def test_requests_rate_and_latencies_are_read_from_wrk() -> None:
    result = load.parse(WRK)

    assert (result.requests, result.requests_per_s) == (106_703, 13_321.22)
    assert (result.p50_ms, result.p99_ms) == (0.812, 1_020.0)
    assert result.cycles == 0
    assert result.seconds == pytest.approx(8.01, abs=0.01)


def test_what_a_script_counted_is_read_from_wrk() -> None:
    assert load.parse(WRK + "cycles: 3201\n").cycles == 3_201


@pytest.mark.parametrize(
    "complaint",
    ["  Non-2xx or 3xx responses: 927", "  Socket errors: connect 0, read 3, write 0, timeout 0"],
)
def test_a_run_with_failed_requests_is_void_and_says_so(complaint: str) -> None:
    with pytest.raises(VoidRunError, match=complaint.strip()):
        load.parse(WRK.replace("Requests/sec", f"{complaint}\nRequests/sec"))


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("Requests/sec:  13321.22", ""),
        ("Requests/sec:  13321.22", "Requests/sec:      0.00"),
        ("106703 requests in", "0 requests in"),
        ("     99%    1.02s", ""),
    ],
)
def test_a_run_without_figures_is_void(line: str, without: str) -> None:
    assert line in WRK

    with pytest.raises(VoidRunError, match=r"no figure|no 99 % latency"):
        load.parse(WRK.replace(line, without))


def test_the_closing_line_of_redis_benchmark_counts_and_not_its_progress() -> None:
    assert redis_benchmark.parse(REDIS_BENCHMARK) == 154_440.16


def test_redis_benchmark_without_a_closing_line_is_void() -> None:
    with pytest.raises(VoidRunError, match="Connection refused"):
        redis_benchmark.parse("Could not connect to Redis at 127.0.0.1:1: Connection refused\n")


def test_a_missing_program_is_refused_with_the_name_of_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(MissingToolError, match="needs redis-benchmark: install the package redis-tools"):
        need("redis-benchmark")


@pytest.mark.parametrize("name", ["publish", "bulk", "consume", "cycle"])
def test_the_scripts_for_wrk_are_where_they_are_looked_for(name: str) -> None:
    assert (load.SCRIPTS / f"{name}.lua").is_file()
