"""What a namespace's row says of its queues where Spark sums up by queue: lists of the most, merged from lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

Row = Mapping[str, Any]

ERRORS_MAX: Final = 20
SLOW_MAX: Final = 10
"""Of each metric."""
FLAGGED_MAX: Final = 50


def tries_of_namespace(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Jobs by attempt and outcome."""
    jobs: dict[tuple[int, str], int] = {}
    for row in rows:
        key = (row["attempt"], row["outcome"])
        jobs[key] = jobs.get(key, 0) + row["jobs"]
    return [
        {"attempt": attempt, "outcome": outcome, "jobs": jobs[attempt, outcome]} for attempt, outcome in sorted(jobs)
    ]


def errors_of_namespace(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The most frequent, each named with its queue: the same text in two queues has two causes as likely as one."""
    by_number = sorted(rows, key=lambda row: (-(row["failed"] + row["dead"]), row["queue"], row["pattern"]))
    return [dict(row) for row in by_number[:ERRORS_MAX]]


def slowest_of_namespace(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The slowest of each metric, ranked anew."""
    by_metric: dict[str, list[Row]] = {}
    for row in rows:
        by_metric.setdefault(row["metric"], []).append(row)
    return [
        dict(row) | {"rank": rank}
        for metric in sorted(by_metric)
        for rank, row in enumerate(
            sorted(by_metric[metric], key=lambda row: (-row["ms"], row["queue"], row["rank"]))[:SLOW_MAX], start=1
        )
    ]


def flagged_of_queues(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """What is out of line in any queue, by queue and figure."""
    flagged = sorted((row for row in rows if row["flagged"]), key=lambda row: (row["queue"], row["figure"]))
    return [dict(row) for row in flagged[:FLAGGED_MAX]]
