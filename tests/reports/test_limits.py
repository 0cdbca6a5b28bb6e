"""From which time on a job may be among the ten that took longest: neither fewer jobs nor very many more are kept."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from queues.reports.tables.single_events import limits_of

TIMES = {
    "each once": ([(ms, 1) for ms in range(100, 150)], 140),
    "few times that very many took": ([(100, 5_000), (101, 1_000_000), (102, 2_000_000)], 102),
    "the tenth is one of many": ([(200, 3), (150, 4_000), (20, 9)], 150),
    "equal ones of several hours": ([(7, 4), (7, 4), (7, 4), (3, 50)], 7),
    "fewer than ten": ([(70, 8), (9, 1)], 1),
    "ten": ([(70, 9), (9, 1)], 9),
    "what took no time does not count": ([(0, 1_000), (5, 2)], 1),
    "no time at all": ([(0, 1_000)], None),
}


@pytest.mark.parametrize("are_many", [False, True])
def test_a_limit_is_the_tenth_longest(spark: SparkSession, *, are_many: bool) -> None:
    rows = [
        ("default", "shop", name, hour, metric, ms, n)
        for name, (times, _expected) in TIMES.items()
        for metric in (("wait", "total", "lateness") if name == "ten" else ("wait", "run", "total"))
        for hour, (ms, n) in enumerate(times)
    ]
    columns = "pool STRING, namespace STRING, queue STRING, hour INT, metric STRING, ms LONG, n LONG"

    found = limits_of(spark.createDataFrame(rows, columns), are_many=are_many).collect()

    assert {row["queue"]: (row["wait_from"], row["run_from"]) for row in found} == {
        name: (limit, None if name == "ten" else limit) for name, (_times, limit) in TIMES.items() if limit
    }
