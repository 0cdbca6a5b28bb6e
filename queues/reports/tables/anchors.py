"""What queues began the day with by Redis's own counts, which the drain notes hourly (`queues.lake.counts`).

A count of the day, less what events say of the time from midnight until then, is what the day began with. An event was
before a count if its stream entry was: both are of the same partition, and the count names the newest entry there was.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from .cells import CHANGE, DAY, SCOPE

_ANCHOR: Final = (*SCOPE, "hour", "jobs", "from_ms", "from_seq", "until_ms", "until_seq")

_PARTITION: Final = "crc32(encode(concat(namespace, '/', queue), 'UTF-8')) % partitions"
"""As `queues.engine.keys.partition_of` has it."""


def anchored_of(sums: DataFrame, before: DataFrame, demo: DataFrame, counts: DataFrame, events: DataFrame) -> DataFrame:
    """(scope, anchored) of the queues of which it is known.

    `before`: (scope, ...) of queues of the day before; `demo`: (scope) of queues whose events are made up, of which
    Redis knows nothing. `counts`: with the columns of `queues.lake.counts`, one hour's of each pool. `events`: of those
    hours, at least. A queue that had no jobs when its partition was counted has no row of its own: if nothing happened
    to it meanwhile, its count is 0.
    """
    of_queues = counts.where("queue != ''").select(*_ANCHOR)
    walks = counts.where("queue = ''").drop("namespace", "queue")
    scopes = sums.where("queue != ''").select(*SCOPE).union(before.select(*SCOPE)).distinct()
    others = scopes.join(of_queues, [*SCOPE], "left_anti").join(f.broadcast(walks), "pool")
    anchors = of_queues.union(others.where(f"partition = {_PARTITION}").select(*_ANCHOR)).where("jobs IS NOT NULL")
    anchors = anchors.join(demo, [*SCOPE], "left_anti")
    hours = sums.where(f"queue != '' AND hour != {DAY}")
    hours = hours.selectExpr(*SCOPE, "hour AS at", "arrivals - departures AS net")
    earlier = anchors.join(hours, [*SCOPE]).where("at < hour").selectExpr(*SCOPE, "-net AS jobs", "0 AS meanwhile")
    same_hour = events.join(anchors, [*SCOPE, "hour"]).where(f"{_entry('entry')} <= {_entry('until')}")
    is_before = f"{_entry('entry')} <= {_entry('from')}"
    same_hour = same_hour.selectExpr(
        *SCOPE, f"IF({is_before}, -({CHANGE}), 0) AS jobs", f"IF({is_before}, 0, 1) AS meanwhile"
    )
    parts = anchors.selectExpr(*SCOPE, "jobs", "0 AS meanwhile").union(earlier).union(same_hour)
    summed = parts.groupBy(*SCOPE).agg(f.expr("sum(jobs) AS anchored"), f.expr("sum(meanwhile) AS meanwhile"))
    return summed.where("meanwhile = 0").select(*SCOPE, "anchored")


def _entry(name: str) -> str:
    return f"named_struct('ms', {name}_ms, 'seq', {name}_seq)"
