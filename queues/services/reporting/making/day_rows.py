"""Makes the rows of a day from the files of a run. Nothing is written here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, cast

from queues.lake.local_days import LocalDay
from queues.lake.sketch import share_within
from queues.models import Namespace, QueueDay, QueuePolicy
from queues.models.policy import WHOLE_NAMESPACE
from queues.models.report import ALL_QUEUES, COUNTS, METRIC_PARTS, METRICS, QUANTILES

from ...policies import policy_for
from ..failures import BadResultsError
from ..reading.day_reports import OTHER_FIGURES
from ..values import ChangeVerdict
from .files import ReportFiles
from .local_days import zones_on

Row = Mapping[str, Any]

ERRORS_MAX: Final = 20
SLOW_MAX: Final = 10
"""Of each metric."""
NOTABLE_MAX: Final = 50


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


def notable_of_queues(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """What is out of line in any queue, by queue, figure and hour; what is better than usual comes last."""
    notable = (row for row in rows if row["flagged"] or row["verdict"] == ChangeVerdict.BETTER)
    ordered = sorted(notable, key=lambda row: (not row["flagged"], row["queue"], row["figure"], row["hour"] or -1))
    return [dict(row) for row in ordered[:NOTABLE_MAX]]


QUEUES_MAX: Final = 5_000
"""Queues of a day that get rows of their own. Those with a policy of their own come first, then the busiest."""

FIGURES: Final = (*COUNTS, *OTHER_FIGURES, *(f"{metric}_{part}" for metric in METRICS for part in METRIC_PARTS))
LISTS: Final = ("tries", "errors", "slow", "changes")

Key = tuple[str, str, str]
"""Pool, namespace, queue."""

SILENT: Final[dict[str, Any]] = (
    dict.fromkeys((*FIGURES, "first_at", "last_at"))
    | dict.fromkeys(COUNTS, 0)
    | {f"{metric}_count": 0 for metric in METRICS}
    | {f"{metric}_exact": True for metric in METRICS}
    | {"backlog_base_known": False}
)
"""Figures of a queue in which nothing happened, which may be just what is out of line."""


class Table:
    """Rows of one table, by queue and by namespace. Rows of a namespace are those of its queues, with their names."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        """Takes the rows over."""
        self._by_queue: dict[Key, list[dict[str, Any]]] = {}
        self._queues: dict[tuple[str, str], list[Key]] = defaultdict(list)
        for row in rows:
            key = row.pop("pool"), row.pop("namespace"), row.pop("queue")
            if key not in self._by_queue:
                self._by_queue[key] = []
                self._queues[key[:2]].append(key)
            self._by_queue[key].append(row)

    def of(self, key: Key) -> list[dict[str, Any]]:
        return self._by_queue.get(key, [])

    @property
    def flagged(self) -> list[Key]:
        """Queues and namespaces of which a row is flagged."""
        return [key for key, rows in self._by_queue.items() if any(row.get("flagged") for row in rows)]

    def within(self, key: Key) -> list[dict[str, Any]]:
        keys = (one for one in self._queues.get(key[:2], []) if one[2] != ALL_QUEUES)
        return [row | {"queue": one[2]} for one in keys for row in self._by_queue[one]]


def make_rows(
    *, files: ReportFiles, run_id: str, is_demo: bool, local: LocalDay | None = None
) -> tuple[list[QueueDay], int]:
    """Rows of the namespaces and queues of a run, and how many queues were left out. Raises BadResultsError.

    `local`: of that day of namespaces with a time zone, instead of the day of UTC.
    """
    days = {key_of(row): row for row in files.read_rows(run_id, "figures", of_hours=False, local=local)}
    tables = {name: Table(files.read_rows(run_id, name, local=local)) for name in LISTS}
    days |= {key: SILENT for key in tables["changes"].flagged if key not in days}
    kept = _chosen(days)
    names = {queue for _, _, queue in kept}
    hours: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for row in files.read_rows(run_id, "figures", of_hours=True, queues=names, local=local):
        if (key := key_of(row)) in kept:
            hours[key].append(_short(row))
    bars: dict[Key, dict[str, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for (*of, metric), jobs in files.read_histograms(run_id, queues=names, local=local):
        if (key := cast(Key, tuple(of))) in kept and metric in METRICS:
            bars[key][metric].update(jobs)
    scopes = _scopes(local.day if local else files.day, is_demo=is_demo)
    zones = local.zones if local else zones_on(files.day)
    made = []
    for key in sorted(kept):
        made_row = _row(files.day, key, days[key], tables)
        made_row.scope_id = scopes.get(key[:2])
        made_row.is_own = local is not None or key[:2] not in zones
        if local:
            made_row.local_date, made_row.complete = local.day, local.is_complete
            made_row.time_zone = zones[key[:2]]
        made_row.hours = sorted(hours[key], key=lambda hour: int(hour["hour"]))
        made_row.histograms = {metric: dict(sorted(buckets.items())) for metric, buckets in bars[key].items()}
        if made_row.queue != ALL_QUEUES:
            _judge(made_row, bars[key]["wait"])
        made.append(made_row)
    return made, len(days) - len(kept)


def key_of(row: Row) -> Key:
    return row["pool"], row["namespace"], row["queue"]


def _chosen(days: Mapping[Key, Row]) -> set[Key]:
    """All namespaces, and QUEUES_MAX queues."""
    queues = [key for key in days if key[2] != ALL_QUEUES]
    if len(queues) > QUEUES_MAX:
        columns = ("namespace__pool__name", "namespace__name", "queue")
        cared_for = set(QueuePolicy.objects.exclude(queue=WHOLE_NAMESPACE).order_by().values_list(*columns))
        queues.sort(key=lambda key: (key not in cared_for, -(days[key]["published"] + days[key]["consumed"]), key))
    return {*queues[:QUEUES_MAX], *(key for key in days if key[2] == ALL_QUEUES)}


def _scopes(day: date, *, is_demo: bool) -> dict[tuple[str, str], int]:
    """Which namespace, as a row, a name meant on that day; made-up data may be older than the namespace."""
    rows = Namespace.objects.order_by().values_list("pool__name", "name", "pk", "created")
    return {(pool, name): pk for pool, name, pk, created in rows if is_demo or created.astimezone(UTC).date() <= day}


def _row(day: date, key: Key, figures: Row, tables: Mapping[str, Table]) -> QueueDay:
    pool, namespace, queue = key
    found = {name: tables[name].of(key) for name in LISTS}
    flagged = sum(bool(change["flagged"]) for change in found["changes"])
    if queue == ALL_QUEUES:
        inner = {name: tables[name].within(key) for name in LISTS}
        flagged += sum(bool(change["flagged"]) for change in inner["changes"])
        found = {
            "tries": found["tries"] or tries_of_namespace(inner["tries"]),
            "errors": errors_of_namespace(inner["errors"]),
            "slow": slowest_of_namespace(inner["slow"]),
            "changes": found["changes"] + notable_of_queues(inner["changes"]),
        }
    row = QueueDay(
        day_id=day,
        pool=pool,
        namespace=namespace,
        queue=queue,
        first_at=_time(figures["first_at"]),
        last_at=_time(figures["last_at"]),
        tries=found["tries"],
        errors=found["errors"],
        slowest=found["slow"],
        changes=found["changes"],
        flagged=min(flagged, 32_767),
    )
    for name in FIGURES:
        setattr(row, name, _figure(figures, name))
    return row


def _figure(figures: Row, name: str) -> Any:
    """Null only where a column may be."""
    value = figures[name]
    if value is None and not QueueDay._meta.get_field(name).null:
        raise BadResultsError(f"the report's table figures says nothing of {name} for {'/'.join(key_of(figures))}")
    return value


_EXACT: Final = tuple(f"{metric}_exact" for metric in METRICS)
_NUMBERS: Final = tuple(name for name in FIGURES if name not in _EXACT)


def _short(hour: Row) -> dict[str, Any]:
    """Without what `reading.figures_of_hour` takes for granted."""
    kept: dict[str, Any] = {"hour": hour["hour"]}
    kept |= {name: value for name in _NUMBERS if (value := hour[name])}
    kept |= {name: False for name in _EXACT if hour[name] is False}
    return kept | {name: hour[name] for name in ("success_rate", "backlog") if hour[name] == 0}


def _judge(row: QueueDay, waits: Mapping[int, int]) -> None:
    """Whether the objective that holds now was met: that its share of deliveries came in time."""
    policy = policy_for(pool=row.pool, namespace=row.namespace, queue=row.queue)
    if policy.objective_s is None:
        return
    row.objective_s, row.objective_target = policy.objective_s, policy.target
    if row.wait_p95 is not None:
        limit_ms = policy.objective_s * 1_000
        row.objective_share = share_within(waits, limit_ms)
        # Percentiles are exact; the share of a histogram is not, at its limit.
        exact = next((name for name, share in QUANTILES.items() if share == policy.target), None)
        if exact and (wait_ms := getattr(row, f"wait_{exact}")) is not None:
            row.objective_met = wait_ms <= limit_ms
        else:
            row.objective_met = row.objective_share is not None and row.objective_share >= policy.target


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1_000, UTC)
