"""From which time on a job may be among the ten that took longest: neither fewer jobs nor very many more are kept."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession

from queues.reports.tables.single_events import least_of, limits_of, notable_of

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


LIMITS: dict[str, list[tuple[str, int | None, int | None]]] = {
    "of both": [("a", 500, 70), ("b", 90, None), ("c", None, 40)],
    "of runs only": [("a", None, 70), ("b", None, 30)],
    "none": [("a", None, None)],
    "of no queue": [],
}


@pytest.mark.parametrize("limits", LIMITS)
def test_what_the_least_limit_passes_over_is_below_its_queues(spark: SparkSession, limits: str) -> None:
    random = Random(limits)
    rows = [
        (
            *("default", "shop", random.choice("abcd"), 3),
            *(random.choice(["consumed", "acked", "failed", "dead", "lease_lost", "published"]), f"job-{number}"),
            *(random.choice([1, 1, 1, 2, None]), random.choice([None, *range(0, 600, 10)])),
            *(random.choice([None, *range(0, 90, 5)]), None, None, None),
        )
        for number in range(600)
    ]
    events = spark.createDataFrame(
        rows,
        "pool STRING, namespace STRING, queue STRING, hour INT, kind STRING, job STRING, attempt INT, wait_ms LONG,"
        " run_ms LONG, at TIMESTAMP, worker STRING, error STRING",
    )
    of_queues = spark.createDataFrame(
        [("default", "shop", *limit) for limit in LIMITS[limits]],
        "pool STRING, namespace STRING, queue STRING, wait_from LONG, run_from LONG",
    )
    least = least_of(of_queues)

    every, some = notable_of(events, of_queues), notable_of(events, of_queues, least=least)

    assert least == {
        "wait": min((wait for _queue, wait, _run in LIMITS[limits] if wait is not None), default=None),
        "run": min((run for _queue, _wait, run in LIMITS[limits] if run is not None), default=None),
    }
    assert sorted(some.collect(), key=str) == sorted(every.collect(), key=str) != []
