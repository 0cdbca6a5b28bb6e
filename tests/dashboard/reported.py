"""Reports in the database, as a nightly run would have left them: every figure follows from the work that is given."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import ceil
from typing import Any, Final

from queues.lake.sketch import bucket_of, share_within
from queues.models import Namespace, QueueDay, ReportDay, ReportState, ReportTrigger
from queues.models.report import COUNTS, QUANTILES

from .people import POOL, SHOP

JOB: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
LISTS: Final = ("tries", "errors", "slowest", "changes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What happened in an hour of a queue. `waits` and `runs` in ms: of each delivery, and of each ack. `backlog`: jobs
    that were there when the hour ended."""

    queue: str = "orders"
    namespace: str = SHOP
    hour: int = 12
    published: int = 0
    waits: Sequence[int] = ()
    runs: Sequence[int] = ()
    failed: int = 0
    retried: int = 0
    dead: int = 0
    expired: int = 0
    backlog: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """All of COUNTS."""
        known = {"consumed": len(self.waits), "acked": len(self.runs), "arrivals": self.published}
        known["departures"] = known["acked"] + self.dead + self.expired
        own = ("published", "failed", "retried", "dead", "expired")
        return dict.fromkeys(COUNTS, 0) | {name: getattr(self, name) for name in own} | known


def report_day(
    day: date,
    work: Iterable[Work],
    *,
    pool: str = POOL,
    said: Mapping[str, Mapping[str, Any]] | None = None,
    **of_day: Any,
) -> None:
    """The report of a day. `said`: lists (LISTS) and `objective_s` of queues by name; `of_day`: fields of ReportDay."""
    made = datetime.combine(day + timedelta(days=1), time(2, 10), UTC)
    fields: dict[str, Any] = {
        "state": ReportState.DONE,
        "run": "r1",
        "trigger": ReportTrigger.SCHEDULED,
        "claimed_by": "host:1",
        "claimed_at": made,
        "beat_at": made,
        "finished_at": made,
        "reported_run": "r1",
        "reported_at": made,
        "took_s": 12.5,
        "events": 1_000,
        "files": 4,
        "complete": True,
        "master": "local[2]",
    }
    ReportDay.objects.update_or_create(date=day, defaults=fields | of_day)
    by_queue: dict[tuple[str, str], list[Work]] = defaultdict(list)
    for one in work:
        by_queue[one.namespace, one.queue].append(one)
        by_queue[one.namespace, ""].append(one)
    scopes = dict(Namespace.objects.filter(pool__name=pool).values_list("name", "pk"))
    for (namespace, queue), parts in by_queue.items():
        row = QueueDay(day_id=day, scope_id=scopes.get(namespace), pool=pool, namespace=namespace, queue=queue)
        fill(row, parts, (said or {}).get(queue, {}))
        row.save()


def fill(row: QueueDay, parts: Sequence[Work], said: Mapping[str, Any]) -> None:
    """Its figures, hours and histograms."""
    for name, value in figures_of(parts).items():
        setattr(row, name, value)
    by_hour: dict[int, list[Work]] = defaultdict(list)
    for one in parts:
        by_hour[one.hour].append(one)
    row.hours = [{"hour": hour} | figures_of(by_hour[hour]) for hour in sorted(by_hour)]
    waits, runs = values_of(parts)
    row.histograms = {"wait": histogram_of(waits), "run": histogram_of(runs)}
    for name in LISTS:
        setattr(row, name, said.get(name, []))
    row.flagged = sum(one["flagged"] for one in row.changes)
    row.objective_s = said.get("objective_s")
    row.objective_target = said.get("objective_target", 0.95) if row.objective_s else None
    if row.objective_s and waits:
        row.objective_met = row.wait_p95 <= row.objective_s * 1_000
        row.objective_share = share_within(Counter(map(bucket_of, waits)), row.objective_s * 1_000)


def figures_of(parts: Sequence[Work]) -> dict[str, Any]:
    """Counts added up, percentiles of all values."""
    counts: Counter[str] = Counter()
    for one in parts:
        counts.update(one.counts)
    ended = counts["acked"] + counts["dead"] + counts["expired"]
    latest = max(one.hour for one in parts)
    backlogs = [one.backlog for one in parts if one.hour == latest]
    waits, runs = values_of(parts)
    known = [one for one in backlogs if one is not None]
    return {
        **{name: counts[name] for name in COUNTS},
        **spread_of("wait", waits),
        **spread_of("run", runs),
        "success_rate": counts["acked"] / ended if ended else None,
        "backlog": sum(known) if len(known) == len(backlogs) else None,
        "backlog_base_known": len(known) == len(backlogs),
    }


def values_of(parts: Iterable[Work]) -> tuple[list[int], list[int]]:
    parts = list(parts)
    return sorted(ms for one in parts for ms in one.waits), sorted(ms for one in parts for ms in one.runs)


def spread_of(metric: str, values: Sequence[int]) -> dict[str, Any]:
    """Nearest rank."""
    if not values:
        return {f"{metric}_count": 0}
    found: dict[str, Any] = {name: values[ceil(share * len(values)) - 1] for name, share in QUANTILES.items()}
    found |= {"count": len(values), "mean": sum(values) / len(values), "max": values[-1]}
    return {f"{metric}_{name}": value for name, value in found.items()}


def histogram_of(values: Iterable[int]) -> dict[str, int]:
    return {str(bucket): jobs for bucket, jobs in sorted(Counter(map(bucket_of, values)).items())}


def error(pattern: str, *, failed: int = 1, dead: int = 0, **of: Any) -> dict[str, Any]:
    """A row of `errors`."""
    return {"pattern": pattern, "failed": failed, "dead": dead, "first_at": None, "last_at": None, "job": JOB} | of


def slow(metric: str, ms: int, *, rank: int = 1, job: str = JOB, **of: Any) -> dict[str, Any]:
    """A row of `slowest`."""
    return {"metric": metric, "rank": rank, "job": job, "attempt": 1, "ms": ms, "at": None, "worker": "w1"} | of


def change(
    figure: str, value: float, usual: float, *, flagged: bool = True, weeks: int = 4, **of: Any
) -> dict[str, Any]:
    """A row of `changes`."""
    told = {"figure": figure, "value": value, "usual": usual, "spread": 1.0, "weeks": weeks, "flagged": flagged}
    return told | {"hour": None, "verdict": "worse" if flagged else "usual"} | of
