"""`python -m bench.anomalies [--seeds 1 2 3]`: how many seeded incidents reports flag, and how many flags are false.

For each seed, 60 days of demo data with incidents are made in memory, DuckDB sums them up as figures of days and hours,
and Spark judges all days in one job, with the function that makes a report's table of changes. A flag counts as true
only if an incident explains it: one of its queue, or of a queue of its namespace, that changes the flagged figure in
this direction, on this day and, if the flag is about an hour, in this hour. An incident counts as found if its queue
has a true flag. Exits with 1 if any share that is printed is below 0.9, that of a single seed included.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from queues.lake.demo import DemoPlan, demo_hours
from queues.lake.demo_incidents import Incident, IncidentKind
from queues.lake.demo_shape import NAMESPACE, POOL, QUEUES, Queue
from queues.lake.names import HOUR_MS
from queues.reports.session import SparkOptions, spark_session
from queues.reports.tables.changes import WEEKS, changes_of

from .report import Bar, Figure, Section, show

FIRST: Final = date(2026, 8, 3)
DAYS: Final = 60
JOBS_PER_DAY: Final = 20_000
LEAST: Final = Bar(sense="≥", value=0.9)

MORE: Final = True
LESS: Final = False

TOUCHES: Final[Mapping[IncidentKind, Mapping[str, bool]]] = {
    IncidentKind.BAD_DEPLOY: {"failed": MORE, "dead": MORE, "success_rate": LESS, "acked": LESS},
    IncidentKind.SLOW_CONSUMERS: {"wait_p95": MORE},
    IncidentKind.SILENT_QUEUE: {"published": LESS, "acked": LESS},
    IncidentKind.DOUBLED_TRAFFIC: {"published": MORE, "failed": MORE, "dead": MORE, "lease_lost": MORE},
    IncidentKind.DEAD_JOBS: {"failed": MORE, "dead": MORE, "success_rate": LESS, "acked": LESS},
    IncidentKind.OUTAGE: {"wait_p95": MORE, "acked": LESS},
    IncidentKind.LOST_LEASES: {"lease_lost": MORE, "dead": MORE, "success_rate": LESS, "acked": LESS},
}
"""Figures that an incident changes, and in which direction.

Where traffic doubles, so do failures and lost leases, as the same share of more jobs. Slow consumers and an outage lose
no jobs: these wait for minutes, at most two hours, and expire after a day.
"""

RETRIES_H: Final = 1
"""A job published in an incident's last minute is retried for a few minutes; and after an outage the jobs that waited
are consumed in the next hour, where they raise its waits."""

TO_P99: Final = 2.33
"""Standard deviations from the median to the 99th percentile of the normal distribution."""

DELAY_SPREAD: Final = 0.6
"""The standard deviation of the logarithm of delays in the demo data (`queues.lake.demo_jobs`)."""

_QUEUES: Final = {queue.name: queue for queue in QUEUES}

_FIGURES: Final = """
    SELECT 'default' AS pool, 'demo' AS namespace, coalesce(queue, '') AS queue, hour,
        count(*) FILTER (kind = 'published') AS published,
        count(*) FILTER (kind = 'acked') AS acked,
        count(*) FILTER (kind = 'failed') AS failed,
        count(*) FILTER (kind = 'dead') AS dead,
        count(*) FILTER (kind = 'lease_lost') AS lease_lost,
        count(*) FILTER (kind = 'expired') AS expired,
        count(*) FILTER (kind = 'consumed') AS wait_count,
        count(*) FILTER (kind = 'acked') AS run_count,
        quantile_disc(wait_ms, 0.95) FILTER (kind = 'consumed') AS wait_p95,
        quantile_disc(run_ms, 0.95) FILTER (kind = 'acked') AS run_p95
    FROM events GROUP BY GROUPING SETS ((queue, hour), (queue), (hour), ())
"""


def figures_of_plan(plan: DemoPlan) -> pa.Table:
    """Figures of all days of the plan, of hours too: the columns that are judged, and `date`."""
    made: list[pa.Table] = []
    columns = ["queue", "kind", "wait_ms", "run_ms", "hour"]
    with duckdb.connect() as connection:
        day, tables = plan.first, list[pa.Table]()
        for then, hour, table in [*demo_hours(plan), (plan.first + timedelta(days=plan.days), 0, None)]:
            if then != day and tables:
                events = pa.concat_tables(tables)
                connection.register("events", events)
                figures = connection.sql(_FIGURES).to_arrow_table()
                made.append(figures.append_column("date", pa.repeat(pa.scalar(day), len(figures))))
                tables = []
            day = then
            if table is not None:
                hours = pa.repeat(pa.scalar(hour, pa.int32()), len(table))
                tables.append(table.append_column("hour", hours).select(columns))
    return pa.concat_tables(made)


def flags_of(spark: SparkSession, figures: DataFrame, *, holidays: Sequence[date] = ()) -> list[dict[str, Any]]:
    """What is flagged on any day, in one job. `figures`: with `date`; success_rate is worked out here."""
    rate = "acked / nullif(acked + dead + expired, 0)"
    figures = figures.withColumn("success_rate", f.expr(rate)).where(~f.col("date").isin(*holidays))
    later = figures.selectExpr("*", f"explode(sequence(1, {WEEKS})) AS week")
    past = later.withColumn("date", f.expr("date_add(date, 7 * week)"))
    past = past.join(figures.select("date").distinct(), "date", "left_semi")
    changes = changes_of(figures, past, complete=True, by=("date",))
    return [row.asDict() for row in changes.where("flagged").collect()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Of one seed: its incidents, those of them that were found, and flags, true and false ones."""

    incidents: Sequence[Incident]
    found: Sequence[Incident]
    true: Sequence[Mapping[str, Any]]
    false: Sequence[Mapping[str, Any]]

    @property
    def precision(self) -> float:
        flags = len(self.true) + len(self.false)
        return len(self.true) / flags if flags else 1.0

    @property
    def recall(self) -> float:
        return len(self.found) / len(self.incidents)


def spill_hours(queue: Queue) -> int:
    """For how many hours after an incident its jobs may still be consumed and end.

    An incident strikes jobs that are published while it lasts; what is published after it is as usual. In most queues
    they end at once or after a retry. Those of a queue with delays are due later (99 % within two hours), and those of
    the slow queue wait for up to their TTL.
    """
    delay_ms = queue.delay_ms * math.exp(TO_P99 * DELAY_SPREAD) if queue.delayed else 0.0
    wait_ms = min(queue.wait_ms * queue.crowding * math.exp(TO_P99 * queue.spread), queue.ttl_ms)
    return RETRIES_H + round((delay_ms + wait_ms) / HOUR_MS)


def explains(incident: Incident, flag: Mapping[str, Any]) -> bool:
    """Whether the flag is about what the incident did."""
    if (flag["pool"], flag["namespace"]) != (POOL, NAMESPACE) or flag["queue"] not in (incident.queue, ""):
        return False
    direction = TOUCHES[incident.kind].get(flag["figure"])
    if direction is None or direction is not (flag["value"] > flag["usual"]):
        return False
    if flag["hour"] is None:
        return bool(flag["date"] == incident.day)
    # Of an incident late in the day, the last hours may be those of the next day.
    hour = flag["hour"] + 24 * (flag["date"] - incident.day).days
    spill = 0 if flag["figure"] == "published" else spill_hours(_QUEUES[incident.queue])
    return bool(incident.first_hour <= hour < incident.last_hour + spill)


def score(incidents: Sequence[Incident], flags: Sequence[Mapping[str, Any]]) -> Scored:
    """Hold flags against the truth."""
    true: list[Mapping[str, Any]] = []
    false: list[Mapping[str, Any]] = []
    found: set[Incident] = set()
    for flag in flags:
        explaining = [one for one in incidents if explains(one, flag)]
        (true if explaining else false).append(flag)
        found.update(one for one in explaining if one.queue == flag["queue"])
    return Scored(incidents=incidents, found=[one for one in incidents if one in found], true=true, false=false)


def score_seed(spark: SparkSession, seed: int, scratch: Path, *, tells_holiday: bool = True) -> Scored:
    """Make the days of a seed and judge them."""
    plan = DemoPlan(first=FIRST, days=DAYS, jobs_per_day=JOBS_PER_DAY, seed=seed, with_incidents=True)
    path = scratch / f"figures-{seed}.parquet"
    if not path.exists():
        pq.write_table(figures_of_plan(plan), path)
    figures = spark.read.parquet(str(path))
    return score(plan.incidents, flags_of(spark, figures, holidays=plan.holidays if tells_holiday else ()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.anomalies", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(default: 1 2 3)")
    parser.add_argument("--keep", type=Path, help="where figures are kept for the next time")
    parser.add_argument("--each", action="store_true", help="name each false flag, and each incident that was missed")
    asked = parser.parse_args()
    scored: list[Scored] = []
    with tempfile.TemporaryDirectory(prefix="taskq-bench-anomalies-") as scratch:
        options = SparkOptions(master="local[2]", memory="1g", conf={"spark.sql.shuffle.partitions": "4"})
        with spark_session(options, scratch=Path(scratch)) as spark:
            for seed in asked.seeds:
                begun = time.monotonic()
                one = score_seed(spark, seed, asked.keep or Path(scratch))
                scored.append(one)
                print(
                    f"seed {seed}: {len(one.true)} true flags, {len(one.false)} false, "
                    f"{len(one.found)} of {len(one.incidents)} incidents, {time.monotonic() - begun:.0f} s",
                    flush=True,
                )
                if asked.each:
                    _tell_each(one)
    figures = shares_of(scored)
    show(Section(title=f"{DAYS} days with incidents, {len(scored)} seeds", figures=figures))
    return 0 if are_good(figures) else 1


def shares_of(scored: Sequence[Scored]) -> list[Figure]:
    """Precision and recall of each seed, and the recall of each kind of incident in all seeds together."""
    every = Counter(incident.kind for one in scored for incident in one.incidents)
    found = Counter(incident.kind for one in scored for incident in one.found)
    return [
        Figure(name="precision: true flags of all", unit="", runs=[one.precision for one in scored], bar=LEAST),
        Figure(name="recall: incidents found of all", unit="", runs=[one.recall for one in scored], bar=LEAST),
        *(
            Figure(name=f"  {kind} ({every[kind]})", unit="", runs=[found[kind] / every[kind]], bar=LEAST)
            for kind in IncidentKind
            if every[kind]
        ),
    ]


def are_good(figures: Sequence[Figure]) -> bool:
    """Whether each share of each seed reaches its bar. (A figure passes if its median does.)"""
    return all(figure.bar.passed_by(share) for figure in figures if figure.bar for share in figure.runs)


def _tell_each(scored: Scored) -> None:
    for incident in scored.incidents:
        if incident not in scored.found:
            print(f"  missed  {incident}")
    for flag in scored.false:
        hour = "" if flag["hour"] is None else f" {flag['hour']:02}:00"
        print(
            f"  false   {flag['date']}{hour}  {flag['queue'] or '*'}: {flag['figure']} {flag['value']} "
            f"({flag['usual']} ± {flag['spread']:.1f} over {flag['weeks']} weeks)"
        )


if __name__ == "__main__":
    sys.exit(main())
