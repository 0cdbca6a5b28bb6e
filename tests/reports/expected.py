"""What a report must say, computed in plain Python from the definitions in docs/reports.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from queues.lake.error_patterns import pattern_of
from queues.lake.sketch import bucket_of

from .made import Event, ask_duckdb, read_table

HOUR: Final = 3_600_000
PERCENTS: Final = (50, 90, 95, 99)
COUNTED: Final = (
    "published", "consumed", "acked", "failed", "lease_lost", "expired", "dead", "respawned", "released", "rescheduled",
)  # fmt: skip

Rows = list[dict[str, Any]]


def metrics_of(event: Event) -> Iterator[tuple[str, int]]:
    """(metric, ms) of an event."""
    if event["kind"] == "consumed" and event["wait_ms"] is not None:
        yield "wait", max(event["wait_ms"], 0)
    if event["kind"] == "ready" and event["wait_ms"] is not None:
        yield "lateness", max(event["wait_ms"], 0)
    if event["kind"] == "acked":
        if event["run_ms"] is not None:
            yield "run", max(event["run_ms"], 0)
        if event["published"] is not None:
            yield "total", max(event["at"] - event["published"], 0)


def percentile(values: Sequence[int], percent: int) -> int:
    """Nearest rank: the least value that at least so many percent of the values do not exceed."""
    return next(value for upto, value in enumerate(sorted(values), 1) if upto * 100 >= percent * len(values))


def lost_leases(events: Iterable[Event]) -> set[tuple[Any, ...]]:
    return {_attempt(one, 0) for one in events if one["kind"] == "lease_lost"}


def utc_hour(one: Event) -> int:
    """The hour of the day in which it happened."""
    hour: int = one["at"] // HOUR % 24
    return hour


def figures(
    today: Sequence[Event], before: Sequence[Event], hour_of: Callable[[Event], int] = utc_hour
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """(pool, namespace, queue, hour) → figures but backlog."""
    groups: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for one in today:
        hour = hour_of(one)
        for queue in (one["queue"], ""):
            for at in (hour, None):
                groups[one["pool"], one["namespace"], queue, at].append(one)
    lost = lost_leases([*before, *today])
    return {key: _figures(events, lost) for key, events in groups.items()}


def _figures(events: Sequence[Event], lost: set[tuple[Any, ...]]) -> dict[str, Any]:
    kinds = Counter(one["kind"] for one in events)
    again = [one for one in events if one["kind"] == "consumed" and (one["attempt"] or 0) > 1]
    destroyed = [one for one in events if one["kind"] == "destroyed"]
    live = sum(one["kind"] == "deleted" and one["error"] is None for one in events)
    live += sum(one["attempt"] or 0 for one in destroyed)
    ended = kinds["acked"] + kinds["dead"] + kinds["expired"]
    told: dict[str, Any] = {kind: kinds[kind] for kind in COUNTED} | {
        "retried": len(again),
        "deleted": kinds["deleted"] + sum(one["size"] or 0 for one in destroyed),
        "duplicates": sum(_attempt(one, -1) in lost for one in again),
        "bytes": sum(one["size"] or 0 for one in events if one["kind"] == "published"),
        "arrivals": kinds["published"] + kinds["respawned"],
        "departures": ended + live,
        "success_rate": kinds["acked"] / ended if ended else None,
        "first_at": min(one["at"] for one in events),
        "last_at": max(one["at"] for one in events),
    }
    for metric in ("wait", "run", "total", "lateness"):
        values = [value for one in events for name, value in metrics_of(one) if name == metric]
        told |= {f"{metric}_count": len(values), f"{metric}_exact": True, f"{metric}_max": max(values, default=None)}
        told[f"{metric}_mean"] = sum(values) / len(values) if values else None
        told |= {f"{metric}_p{percent}": percentile(values, percent) if values else None for percent in PERCENTS}
    return told


def histograms(today: Iterable[Event]) -> Counter[tuple[Any, ...]]:
    """(pool, namespace, queue, metric, bucket) → jobs."""
    return Counter(
        (one["pool"], one["namespace"], queue, metric, bucket_of(value))
        for one in today
        for metric, value in metrics_of(one)
        for queue in (one["queue"], "")
    )


def tries(today: Iterable[Event]) -> Counter[tuple[Any, ...]]:
    """(pool, namespace, queue, attempt, outcome) → jobs."""
    ended = [one for one in today if one["kind"] in ("acked", "dead") and one["attempt"] is not None]
    return Counter((*_scope_cell(one), one["attempt"], one["kind"]) for one in ended)


def errors(today: Sequence[Event], before: Sequence[Event]) -> Rows:
    """The table, its rows in order."""
    lost = lost_leases([*before, *today])
    groups: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for one in today:
        if one["kind"] in ("failed", "dead"):
            outcome = "lease_lost" if one["kind"] == "dead" and _attempt(one, 0) in lost else "failed"
            is_silent = outcome == "lease_lost" and one["error"] == "lease lost"
            error = "" if is_silent else one["error"] or ""
            groups[*_scope_cell(one), pattern_of(error=error, outcome=outcome)].append(one)
    rows = []
    for (pool, namespace, queue, pattern), events in groups.items():
        latest = max(events, key=lambda one: (one["at"], one["job"]))
        kinds = Counter(one["kind"] for one in events)
        rows.append(
            {"pool": pool, "namespace": namespace, "queue": queue, "pattern": pattern}
            | {"failed": kinds["failed"], "dead": kinds["dead"], "job": latest["job"]}
            | {"first_at": min(one["at"] for one in events), "last_at": latest["at"]}
        )
    rows.sort(key=lambda row: (*_scope_cell(row), -row["failed"] - row["dead"], row["pattern"]))
    return _first(rows, 20, *SCOPE)


SCOPE: Final = ("pool", "namespace", "queue")


def slow(today: Iterable[Event]) -> Rows:
    """The table, its rows in order."""
    rows = [
        {name: one[name] for name in (*SCOPE, "job", "attempt", "at", "worker")} | {"metric": metric, "ms": value}
        for one in today
        for metric, value in metrics_of(one)
        if metric in ("wait", "run") and value > 0
    ]
    rows.sort(key=lambda row: (row["job"], row["attempt"]), reverse=True)
    rows.sort(key=lambda row: (*_scope_cell(row), row["metric"], -row["ms"], row["at"]))
    kept = _first(rows, 10, *SCOPE, "metric")
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in kept:
        seen[*_scope_cell(row), row["metric"]] += 1
        row["rank"] = seen[*_scope_cell(row), row["metric"]]
    return kept


def backlogs(
    told: dict[tuple[Any, ...], dict[str, Any]], before: dict[tuple[Any, ...], tuple[int, bool]], *, known: bool
) -> dict[tuple[Any, ...], tuple[int, bool]]:
    """(pool, namespace, queue, hour) → backlog and whether its base is known. `before`: the same of the day before."""
    queues = {key[:3] for key in told if key[2]} | set(before)
    found: dict[tuple[Any, ...], tuple[int, bool]] = {}
    bases: dict[tuple[Any, ...], list[tuple[int, bool]]] = defaultdict(list)
    for scope in queues:
        said, was_known = before.get(scope, (0, known))
        lowest = min((moved for _, moved in _moves(told, scope)), default=0)
        base = max(said, -lowest)
        bases[scope].append((base, was_known and base == said))
        bases[*scope[:2], ""].append(bases[scope][0])
    for scope, parts in bases.items():
        base, is_known = sum(part[0] for part in parts), all(part[1] for part in parts)
        moved = 0
        for hour, moved in _moves(told, scope):
            found[*scope, hour] = (base + moved, is_known)
        if (*scope, None) in told or base:
            found[*scope, None] = (base + moved, is_known)
    return found


def _moves(told: dict[tuple[Any, ...], dict[str, Any]], scope: tuple[Any, ...]) -> Iterator[tuple[int, int]]:
    moved = 0
    for hour in range(24):
        if (row := told.get((*scope, hour))) is not None:
            moved += row["arrivals"] - row["departures"]
            yield hour, moved


def check_report(out: Path, day: str, *, today: Sequence[Event], before: Sequence[Event], run: str = "one") -> None:
    """Fail unless every row of the run's tables is as it must be. No other day may have a report.

    `before`: the events of the day before. Without any, the lake must begin with `day`.
    """
    told = figures(today, before)
    # The lake's first day began with nothing; of others nobody knows.
    check_figures(read_table(out, day, "figures", run), told, backlogs(told, {}, known=not before))
    check_other_tables(out, day, today=today, before=before, run=run)
    assert read_table(out, day, "changes", run) == []


def check_other_tables(
    out: Path,
    day: str,
    *,
    today: Sequence[Event],
    before: Sequence[Event],
    folder: str = "",
    run: str = "one",
    pools: Collection[str] = (),
) -> None:
    """Fail unless the tables but figures and changes are as they must be. `folder`: where they are, below the run.
    `pools`: only their rows; empty: all rows."""

    def read(table: str) -> Rows:
        rows = read_table(out, day, folder + table, run)
        return [row for row in rows if not pools or row["pool"] in pools]

    rows = read("histograms")
    found = {tuple(row[name] for name in (*SCOPE, "metric", "bucket")): row["jobs"] for row in rows}
    assert found == histograms(today)
    rows = read("tries")
    found = {tuple(row[name] for name in (*SCOPE, "attempt", "outcome")): row["jobs"] for row in rows}
    assert found == tries(today)
    assert read("errors") == errors(today, before)
    assert read("slow") == slow(today)


def check_with_duckdb(lake: Path, out: Path, day: str) -> None:
    """Fail unless DuckDB counts, and finds percentiles, as the report of a lake of one namespace does."""
    measured = (("wait", "consumed", "wait_ms"), ("run", "acked", "run_ms"), ("lateness", "ready", "wait_ms"))
    kinds = ("published", "consumed", "acked", "failed", "dead")
    quantiles = ", ".join(
        f"quantile_disc({value}, {percent / 100}) filter (kind = '{kind}')"
        for _, kind, value in measured
        for percent in PERCENTS
    )
    counts = ", ".join(f"count(*) filter (kind = '{kind}')" for kind in kinds)
    groups = "grouping sets ((queue, hour), (queue), (hour), ())"
    asked = ask_duckdb(
        lake, f"select coalesce(queue, ''), hour::int, {counts}, {quantiles} from {{day}} group by {groups}", day
    )
    names = [*kinds, *(f"{metric}_p{percent}" for metric, _, _ in measured for percent in PERCENTS)]
    told = {(row["queue"], row["hour"]): tuple(row[name] for name in names) for row in read_table(out, day, "figures")}
    assert told == {(queue, hour): tuple(values) for queue, hour, *values in asked}


def check_figures(
    rows: Rows, told: dict[tuple[Any, ...], dict[str, Any]], left: dict[tuple[Any, ...], tuple[int, bool]]
) -> None:
    """Fail unless each row of the table is as `figures` and `backlogs` say."""
    keys = [tuple(row[name] for name in (*SCOPE, "hour")) for row in rows]
    assert len(set(keys)) == len(keys)
    assert set(keys) == set(told) | set(left)
    for key, row in zip(keys, rows, strict=True):
        wanted = dict(told[key]) if key in told else {}
        wanted["backlog"], wanted["backlog_base_known"] = left[key]
        assert {name: row[name] for name in wanted} == wanted, key


def _first(rows: Rows, number: int, *by: str) -> Rows:
    seen: Counter[tuple[Any, ...]] = Counter()
    kept = []
    for row in rows:
        group = tuple(row[name] for name in by)
        seen[group] += 1
        if seen[group] <= number:
            kept.append(row)
    return kept


def _scope_cell(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["pool"], row["namespace"], row["queue"]


def _attempt(one: Event, less: int) -> tuple[Any, ...]:
    return (*_scope_cell(one), one["job"], None if one["attempt"] is None else one["attempt"] + less)
