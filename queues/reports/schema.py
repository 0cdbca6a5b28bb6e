"""The tables of a report: their columns with type, unit and meaning, and the version of them all.

Writers and readers of a report's files take names and types from here, and docs/data/ is made of it. A run says
the version in its summary (`schema_version`). A summary without it is of version 1.

To change a table:

1. Add columns only: nullable ones, at the end of their table, each with a meaning and with the new version as `since`.
   No column is removed, renamed or retyped. Its meaning stays: a new meaning is a new column. A new table is fine.
2. Raise VERSION and say in VERSIONS what is new.
3. `python -m tools.data_docs` brings it into docs/data/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from queues.lake.schema import Column

VERSION: Final = 2
"""Of the tables that are written."""

VERSION_KEY: Final = "schema_version"
"""In the summary of a run."""

VERSIONS: Final[Mapping[int, str]] = {
    1: "the tables as the first reports had them",
    2: "`time_zone` of `figures`; tables of local days, in the folders `local=YYYY-MM-DD` of a run",
}
"""What each has brought."""

_SCOPE: Final = (
    Column("pool", "string", False, "name of the pool"),
    Column("namespace", "string", False, "name of the namespace"),
)
_QUEUE: Final = (*_SCOPE, Column("queue", "string", False, "name of the queue"))
_QUEUE_OR_ALL: Final = (*_SCOPE, Column("queue", "string", False, "name of the queue; empty: all of the namespace"))

_COUNTS: Final = (
    Column("published", "int64", False, "jobs published", "events"),
    Column("consumed", "int64", False, "deliveries", "events"),
    Column("acked", "int64", False, "jobs acknowledged", "events"),
    Column("failed", "int64", False, "attempts that a consumer said had failed", "events"),
    Column("retried", "int64", False, "deliveries with an attempt greater than 1", "events"),
    Column("lease_lost", "int64", False, "deliveries whose lease ran out", "events"),
    Column("expired", "int64", False, "jobs whose ttl ended before they were delivered", "events"),
    Column("dead", "int64", False, "jobs that became dead letters", "events"),
    Column("respawned", "int64", False, "dead letters that became ready again", "events"),
    Column("released", "int64", False, "deliveries given back without burning a try", "events"),
    Column("deleted", "int64", False, "jobs deleted, those of destroyed queues included", "jobs"),
    Column("rescheduled", "int64", False, "jobs that were given another time", "events"),
    Column("duplicates", "int64", False, "deliveries after an attempt whose lease was lost", "events"),
    Column("bytes", "int64", False, "bodies of the jobs published", "bytes"),
    Column("arrivals", "int64", False, "published + respawned", "events"),
    Column("departures", "int64", False, "acked + expired + dead + deleted while alive", "jobs"),
)

_MEASURED: Final = {
    "wait": "due → delivered, of each delivery",
    "run": "delivered → acked, of each ack",
    "total": "published → acked, of each ack",
    "lateness": "due → ready, of each job that had to wait for its time",
}


def _metric(name: str, meaning: str) -> tuple[Column, ...]:
    percents = (
        Column(f"{name}_p{percent}", "int64", True, f"the least that {percent} % do not exceed", "ms")
        for percent in (50, 90, 95, 99)
    )
    return (
        Column(f"{name}_count", "int64", False, f"how many were measured: {meaning}", "values"),
        Column(f"{name}_mean", "double", True, "sum divided by count; null: nothing measured", "ms"),
        *percents,
        Column(f"{name}_max", "int64", True, "the longest", "ms"),
        Column(f"{name}_exact", "bool", False, "whether the percentiles are exact"),
    )


TABLES: Final[Mapping[str, tuple[Column, ...]]] = {
    "figures": (
        *_QUEUE_OR_ALL,
        Column("hour", "int32", True, "hour of the day, of UTC or the time zone; null: the whole day", "h"),
        *_COUNTS,
        *(column for name, meaning in _MEASURED.items() for column in _metric(name, meaning)),
        Column("success_rate", "double", True, "acked / (acked + dead + expired), 0 to 1; null: none of these"),
        Column("backlog", "int64", True, "jobs that are there at the end; null: not known", "jobs"),
        Column("backlog_base_known", "bool", True, "whether it is known what the day began with; null: no backlog"),
        Column("first_at", "timestamp_ms", True, "the first event; null: nothing happened"),
        Column("last_at", "timestamp_ms", True, "the last event"),
        Column("time_zone", "string", True, "time zone of the day and its hours; null: UTC", since=2),
    ),
    "histograms": (
        *_QUEUE_OR_ALL,
        Column("metric", "string", False, "wait, run, total or lateness"),
        Column("bucket", "int32", False, "one for each ms below 128, then 64 to each doubling (queues/lake/sketch.py)"),
        Column("jobs", "int64", False, "values in the bucket", "values"),
    ),
    "tries": (
        *_QUEUE,
        Column("attempt", "int32", False, "the delivery, from 1, at which jobs ended"),
        Column("outcome", "string", False, "acked or dead"),
        Column("jobs", "int64", False, "how many ended so", "jobs"),
    ),
    "errors": (
        *_QUEUE,
        Column("pattern", "string", False, "the error, with placeholders for numbers, ids, times and addresses"),
        Column("failed", "int64", False, "failed attempts with it", "events"),
        Column("dead", "int64", False, "deaths with it", "events"),
        Column("first_at", "timestamp_ms", False, "the first of them"),
        Column("last_at", "timestamp_ms", False, "the last of them"),
        Column("job", "string", True, "id of the job of the last one"),
    ),
    "slow": (
        *_QUEUE,
        Column("metric", "string", False, "wait or run"),
        Column("rank", "int32", False, "from 1, the longest"),
        Column("job", "string", True, "id of the job"),
        Column("attempt", "int32", True, "delivery, from 1"),
        Column("ms", "int64", False, "how long it waited or ran", "ms"),
        Column("at", "timestamp_ms", False, "when it was delivered or acked"),
        Column("worker", "string", True, "the consumer's name, if it gave one"),
    ),
    "changes": (
        *_QUEUE_OR_ALL,
        Column("figure", "string", False, "a column of `figures`"),
        Column("hour", "int32", True, "hour of the day (UTC); null: the whole day", "h"),
        Column("value", "double", True, "of this day or hour; null: nothing to measure"),
        Column("usual", "double", True, "median of the same weekday, and hour, in past weeks"),
        Column("spread", "double", True, "median distance from the usual × 1.4826"),
        Column("weeks", "int32", False, "past weeks that have the figure", "weeks"),
        Column("verdict", "string", False, "worse, better, usual, too few weeks, holiday or incomplete"),
        Column("flagged", "bool", False, "whether the day or hour is out of line, that is: worse"),
    ),
}
"""By name. `date` is in the path of a file, and `run`, which says which run computed it."""

PRIMARY_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "figures": ("pool", "namespace", "queue", "hour"),
    "histograms": ("pool", "namespace", "queue", "metric", "bucket"),
    "tries": ("pool", "namespace", "queue", "attempt", "outcome"),
    "errors": ("pool", "namespace", "queue", "pattern"),
    "slow": ("pool", "namespace", "queue", "metric", "rank"),
    "changes": ("pool", "namespace", "queue", "figure", "hour"),
}
"""What tells a row from all others of its day and run."""
