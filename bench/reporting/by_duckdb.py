"""`python -m bench.reporting.by_duckdb LAKE DAY`: DuckDB computes what most of a report's tables say, from raw files.

Counts and exact percentiles of each queue and namespace, by hour and for the day; histograms; tries; the slowest jobs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Final

import duckdb

MEMORY: Final = "2GB"
KINDS: Final = (
    "published", "consumed", "acked", "failed", "lease_lost", "expired", "dead", "respawned", "released", "rescheduled",
)  # fmt: skip
MEASURED: Final = {"wait": ("consumed", "wait_ms"), "run": ("acked", "run_ms"), "lateness": ("ready", "wait_ms")}
TOTAL: Final = 'epoch_ms("at") - epoch_ms(published)'


def main() -> int:
    lake, day = sys.argv[1:]
    counts = [f"count(*) filter (kind = '{kind}')" for kind in KINDS]
    values = [*MEASURED.values(), ("acked", TOTAL)]
    for kind, value in values:
        here = f"filter (kind = '{kind}')"
        counts += [
            f"quantile_disc({value}, [0.5, 0.9, 0.95, 0.99]) {here}",
            f"sum({value}) {here}",
            f"max({value}) {here}",
        ]
    scope = "pool, namespace, queue"
    levels = f"grouping sets (({scope}, hour), ({scope}), (pool, namespace, hour), (pool, namespace))"
    bucket = "case when v < 128 then v else floor(log2(v)) * 64 + v // (2 ** (floor(log2(v)) - 6)) end"
    long = " union all ".join(
        f"select {scope}, '{name}' as metric, {value} as v from events where kind = '{kind}'"
        for name, (kind, value) in {**MEASURED, "total": ("acked", TOTAL)}.items()
    )
    tables = (
        f"select {scope}, hour, {', '.join(counts)} from events group by {levels}",
        f"select {scope}, metric, {bucket} as bucket, count(*) from ({long}) group by all",
        f"select {scope}, kind, attempt, count(*) from events where kind in ('acked', 'dead') group by all",
        f"select {scope}, max_by(job, wait_ms, 10) filter (kind = 'consumed'), max_by(job, run_ms, 10) "
        f"filter (kind = 'acked') from events group by {scope}",
    )
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as connection:
        connection.execute(f"set memory_limit = '{MEMORY}'; set threads = {os.cpu_count()}; set timezone = 'UTC'")
        connection.execute(f"set temp_directory = '{scratch}'")
        files = f"read_parquet('{lake}/date={day}/*/*.parquet', hive_partitioning = true)"
        connection.execute(f"create view events as select * from {files}")
        for number, table in enumerate(tables):
            connection.execute(f"copy ({table}) to '{scratch}/{number}.parquet'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
