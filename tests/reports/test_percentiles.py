"""Percentiles, sums and histograms of each level, whichever way they are found: as lists, or by bucket first."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from queues.lake import sketch
from queues.reports.tables import times
from queues.reports.tables.cells import DAY, METRICS, SCOPE, TOP
from queues.reports.tables.times import PERCENTS, histograms_of, longest_of, measures_of, metrics_of, scopes_of

from .expected import percentile

Value = tuple[str, str, int, str, int, int]
"""Namespace, queue, hour, metric, ms, how often."""

Level = tuple[str, str, int, str]
"""Namespace, queue or "", hour or DAY, metric."""


BETWEEN = 700
"""More events than a queue has, and less than a namespace."""

MANY = 125
"""More events than most queues have."""


def _values() -> list[Value]:
    dice = random.Random(7)
    # From 0 to beyond the last bucket; often the same, often in one bucket with others.
    sizes = [0, 5, 127, 128, 4_000, 4_001, 4_030, 70_000, 70_500, 3 << 30, 1 << 45]
    rare: Value = ("shop", "rare", 8, "wait", 4_000, TOP - 1)
    return [
        rare,
        *(
            (
                dice.choice(("shop", "mail")),
                f"queue-{min(int(dice.expovariate(0.8)), 5)}",
                dice.randrange(7, 10),
                dice.choice([*METRICS]),
                dice.choice(sizes) + dice.choice((0, 0, 1, dice.randrange(40))),
                dice.choice((1, 1, 1, dice.randrange(1, 12))),
            )
            for _ in range(1_000)
        ),
    ]


def _by_level(values: list[Value]) -> dict[Level, list[int]]:
    found: dict[Level, list[int]] = defaultdict(list)
    for namespace, queue, hour, metric, ms, n in values:
        for name in (queue, ""):
            for when in (hour, DAY):
                found[namespace, name, when, metric] += [ms] * n
    return found


def _limit(every: list[int]) -> int | None:
    """From which time on one is among the longest."""
    return max(sorted(every)[-TOP], 1) if len(every) >= TOP else 1 if every else None


def _metrics(rows: DataFrame) -> dict[Level, dict[str, Any]]:
    return {
        (row["namespace"], row["queue"], row["hour"], metric): {
            part: row[f"{metric}_{part}"] for part in ("count", "sum", "max", *(f"p{percent}" for percent in PERCENTS))
        }
        for row in rows.collect()
        for metric in METRICS
        if row[f"{metric}_count"]
    }


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    """Of `_values`, computed once."""
    columns = "pool STRING, namespace STRING, queue STRING, hour INT, metric STRING, ms LONG, n LONG"
    return spark.createDataFrame([("default", *value) for value in _values()], columns).localCheckpoint()


@pytest.mark.parametrize(
    ("listed_events", "add_up", "is_local"),
    [(1 << 40, False, True), (0, False, True), (MANY, True, True), (MANY, True, False), (BETWEEN, False, True)],
    ids=["all lists", "all by bucket", "both, added up first", "both, as on a cluster", "queues in lists"],
)
def test_each_level_has_the_percentiles_of_its_values(
    table: DataFrame, monkeypatch: pytest.MonkeyPatch, listed_events: int, add_up: bool, is_local: bool
) -> None:
    values = _values()
    expected = _by_level(values)
    sizes = Counter[str]()
    for namespace, queue, _hour, _metric, _ms, n in values:
        sizes[f"{namespace}/{queue}"] += n
    assert min(sizes.values()) < MANY < max(sizes.values()) < BETWEEN, "both kinds of queues"
    assert sum(size for name, size in sizes.items() if name.startswith("mail/")) > BETWEEN, "namespaces are large"
    monkeypatch.setattr(times, "LISTED_EVENTS", listed_events)
    monkeypatch.setattr(times, "PASS_EVENTS", listed_events)
    monkeypatch.setattr(times, "EVENTS_OF_TASK", 200)
    scopes = scopes_of(table.selectExpr(*SCOPE, "n AS events")).persist()

    measures = measures_of(table, scopes, add_up=add_up, keep=lambda rows: rows.persist(), is_local=is_local).persist()

    assert _metrics(metrics_of(measures, scopes)) == {
        level: {"count": len(every), "sum": sum(every), "max": max(every)}
        | {f"p{percent}": percentile(every, percent) for percent in PERCENTS}
        for level, every in expected.items()
    }
    limits = {(row["namespace"], row["queue"]): row for row in longest_of(measures, scopes).collect()}
    assert {names: (row["wait_from"], row["run_from"]) for names, row in limits.items()} == {
        (namespace, queue): (
            _limit(expected[namespace, queue, DAY, "wait"]),
            _limit(expected[namespace, queue, DAY, "run"]),
        )
        for namespace, queue in limits
    }
    assert len(limits) == len(sizes)
    assert limits["shop", "rare"]["wait_from"] == 1
    lists = histograms_of(measures, scopes).collect()
    assert all(
        [one.bucket for one in row["buckets"]] == sorted({one.bucket for one in row["buckets"]}) for row in lists
    )
    bars = Counter({(*row[1:4], one.bucket): one.jobs for row in lists for one in row["buckets"]})
    assert bars == Counter(
        (namespace, queue, metric, sketch.bucket_of(ms))
        for (namespace, queue, hour, metric), every in expected.items()
        for ms in every
        if hour == DAY
    )
