"""The charts of reports, as the JSON that charts.js draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django.utils.translation import gettext as _

from dashboard.series import PERCENTILES, Meaning, meant_series, named_series
from queues.lake.sketch import bounds
from queues.services.objectives.budgets import BudgetDay
from queues.services.reporting.planning.costs import RangeUsage, ScopeUsage
from queues.services.reporting.planning.forecasts import Expected
from queues.services.reporting.presenting.summary import LINES
from queues.services.reporting.reading.merging import QueueHours
from queues.services.reporting.values import Figures, Metric, QueueReport, SeriesDay, TryCount

HOURS: Final = range(24)

Chart = dict[str, Any]
"""As charts.js takes it."""

Value = float | None
Of = Callable[[Figures], Value]
"""Which figure is drawn."""


def axis(unit: str) -> Chart:
    """Percentiles lie far apart: on a plain scale p99 would press all others to the ground."""
    return {"unit": unit, "scale": "log"} if unit == "ms" else {"unit": unit}


def hourly(hours: Sequence[Figures], of: Of, *, absent: Value) -> list[Value]:
    """One value for each of HOURS; `absent`: of an hour in which nothing happened."""
    found = {one.hour: of(one) for one in hours}
    return [found.get(hour, absent) for hour in HOURS]


def figure(key: str) -> Of:
    """A figure by its name, such as `published` or `wait_p95`."""
    return lambda figures: figures.value(key)


Line = tuple[Meaning, Of]

_FLOW: Final[Sequence[Line]] = [
    (meaning, figure(meaning.value)) for meaning in (Meaning.PUBLISHED, Meaning.ACKED, Meaning.FAILED, Meaning.DEAD)
]


def _percentiles_of(metric: Metric) -> Sequence[Line]:
    return [(meaning, figure(f"{metric}_{meaning.value}")) for meaning in PERCENTILES]


def nothing_measured(metric: Metric) -> str:
    """What stands where there is nothing to draw."""
    return _("Nothing was acked on this day.") if metric is Metric.RUN_TIME else _("Nothing was delivered on this day.")


def flow(hours: Sequence[Figures], *, until: int = 24) -> Chart:
    """What happened hour by hour. `until`: hours from there on have not been."""
    return _by_hour(_("Jobs by hour"), "jobs", hours, _FLOW, until=until)


def percentiles(hours: Sequence[Figures], metric: Metric) -> Chart:
    """p50, p95 and p99 of each hour."""
    titles = {Metric.WAIT: _("Wait by hour: due → delivered"), Metric.RUN_TIME: _("Run by hour: delivered → acked")}
    return _by_hour(titles[metric], "ms", hours, _percentiles_of(metric), empty=nothing_measured(metric))


def percentile_of_namespaces(reports: Sequence[QueueReport]) -> Chart:
    """p95 of waiting in each hour, of each of the busiest namespaces: such figures of several cannot be added up."""
    return {
        "title": _("Wait p95 by hour, of the busiest namespaces"),
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": axis("ms"),
        "series": [
            named_series(one.row.namespace, hourly(one.hours, figure("wait_p95"), absent=None))
            for one in reports[:LINES]
        ],
        "empty": _("Nothing was delivered on this day."),
    }


def backlog(hours: Sequence[Figures], *, until: int = 24) -> Chart:
    """Jobs that were there at the end of each hour; hours in which nothing happened leave it as it was."""
    known = {one.hour: one.backlog for one in hours}
    values: list[Value] = []
    for hour in HOURS:
        before = values[-1] if values else None
        values.append(None if hour >= until else known.get(hour, before))
    return {
        "title": _("Backlog at the end of each hour"),
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": {"unit": "jobs"},
        "series": [named_series(_("jobs that are there"), values, style="area")],
        "empty": _("Not known: the day before has no report."),
    }


def comparison(title: str, unit: str, of: Of, days: Mapping[str, Sequence[Figures]]) -> Chart:
    """One figure of each hour on several days, named by the keys."""
    absent = 0 if unit == "jobs" else None
    return {
        "title": title,
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": axis(unit),
        "series": [named_series(name, hourly(hours, of, absent=absent)) for name, hours in days.items()],
        "empty": _("Nothing happened on these days."),
    }


def _by_hour(
    title: str,
    unit: str,
    hours: Sequence[Figures],
    lines: Sequence[Line],
    *,
    until: int = 24,
    empty: str = "",
) -> Chart:
    absent = 0 if unit == "jobs" and hours else None
    return {
        "title": title,
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": axis(unit),
        "series": [
            meant_series(meaning, [*hourly(hours, of, absent=absent)[:until], *[None] * (24 - until)])
            for meaning, of in lines
        ],
        "empty": empty or _("Nothing happened on this day."),
    }


def day_by_day(days: Sequence[date], found: Mapping[date, Figures | None]) -> Chart:
    """Counts of each day. A day that `found` lacks has no report; None: nothing happened."""
    nothing = Figures()
    return _by_day(
        _("Jobs by day"),
        "jobs",
        days,
        _FLOW,
        lambda day: (found[day] or nothing) if day in found else None,
        empty=_("No day of this time has a report."),
    )


def percentiles_by_day(days: Sequence[SeriesDay], metric: Metric) -> Chart:
    """p50, p95 and p99 of each day."""
    found = {one.day: one.row.figures for one in days if one.row is not None}
    titles = {Metric.WAIT: _("Wait by day: due → delivered"), Metric.RUN_TIME: _("Run by day: delivered → acked")}
    nothing = _("No report of these days has figures for it.")
    return _by_day(titles[metric], "ms", [one.day for one in days], _percentiles_of(metric), found.get, empty=nothing)


def budget_by_day(days: Sequence[BudgetDay]) -> Chart:
    """What was left of the error budget at the end of each day, and what the day took; overspent is none left."""
    return {
        "title": _("Error budget by day"),
        "x": {"unit": "day", "values": [_midnight_ms(one.day) for one in days]},
        "y": axis("%"),
        "series": [
            named_series(_("left"), [None if one.left is None else 100 * max(one.left, 0) for one in days]),
            named_series(_("burned on the day"), [None if one.burned is None else 100 * one.burned for one in days]),
        ],
        "empty": _("No report of these days has figures for it."),
    }


def _by_day(
    title: str,
    unit: str,
    days: Sequence[date],
    lines: Sequence[Line],
    find: Callable[[date], Figures | None],
    *,
    empty: str,
) -> Chart:
    found = [find(day) for day in days]
    return {
        "title": title,
        "x": {"unit": "day", "values": [_midnight_ms(day) for day in days]},
        "y": axis(unit),
        "series": [meant_series(meaning, [None if one is None else of(one) for one in found]) for meaning, of in lines],
        "empty": empty,
    }


def _midnight_ms(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp() * 1000)


def run_time_by_day(usage: RangeUsage, drawn: Sequence[ScopeUsage], daily: Iterable[ScopeUsage]) -> Chart:
    """How long jobs ran on each day, of those drawn one upon the other; of the others together."""
    found = {(one.day, one.pool, one.namespace, one.queue): one.usage.run_ms for one in daily}
    days = usage.days
    rows: list[tuple[str, list[Value]]] = []
    for one in drawn:
        key = (one.pool, one.namespace, one.queue)
        rows.append(
            (one.queue or one.namespace, [found.get((day, *key), 0) if day in usage.by_day else None for day in days])
        )
    if usage.found > len(drawn):
        sums = (sum(values[place] or 0 for _name, values in rows) for place in range(len(days)))
        rest: list[Value] = [
            usage.by_day[day].run_ms - total if day in usage.by_day else None
            for day, total in zip(days, sums, strict=True)
        ]
        rows.append((_("all others"), rest))
    return {
        "title": _("Run time by day"),
        "x": {"unit": "day", "values": [_midnight_ms(day) for day in days]},
        "y": {"unit": "ms"},
        "series": [named_series(name, values) for name, values in rows],
        "empty": _("No day of this time has a report."),
    }


def expected_by_day(title: str, unit: str, days: Sequence[date], one: Expected, *, factor: float = 1) -> Chart:
    """What was, then what is expected between the ends of its interval. `factor`: to the unit of the chart."""
    past = [None if value is None else value * factor for value in one.past]
    before, after = [None] * len(past), [None] * len(one.ahead)
    lines = ((_("at most"), "high"), (_("expected"), "expected"), (_("at least"), "low"))
    ahead = [named_series(name, [*before, *(getattr(day, part) * factor for day in one.ahead)]) for name, part in lines]
    return {
        "title": title,
        "x": {"unit": "day", "values": [_midnight_ms(day) for day in days[: len(past) + len(one.ahead)]]},
        "y": {"unit": unit},
        "series": [ahead[0], named_series(_("actual"), [*past, *after]), *ahead[1:]],
        "empty": _("No day of this time has a report."),
    }


ROW_PX: Final = 22
BELOW_PX: Final = 34


def busiest_hours(rows: Sequence[QueueHours], *, of: Of, title: str, unit: str, meaning: Meaning) -> Chart:
    """A row for each queue, named with its namespace if there are several."""
    is_one = len({(one.row.pool, one.row.namespace) for one in rows}) == 1
    named = [(one.row.queue if is_one else f"{one.row.namespace}/{one.row.queue}", one.hours) for one in rows]
    return _heat(title, unit, named, of, meaning)


def hours_of_days(
    days: Sequence[SeriesDay], *, of: Of, title: str, unit: str, meaning: Meaning, names: Callable[[date], str]
) -> Chart:
    """A row for each day."""
    return _heat(title, unit, [(names(one.day), one.hours if one.has_report else None) for one in days], of, meaning)


def heat_height(rows: int) -> int:
    """Pixels for so many rows."""
    return rows * ROW_PX + BELOW_PX


def _heat(
    title: str, unit: str, rows: Sequence[tuple[str, Sequence[Figures] | None]], of: Of, meaning: Meaning
) -> Chart:
    absent = 0 if unit == "jobs" else None
    return {
        "title": title,
        "x": {"unit": "hour", "values": [*HOURS]},
        "y": {"unit": unit},
        "series": [
            named_series(name, [None] * 24 if hours is None else hourly(hours, of, absent=absent), meaning=meaning)
            for name, hours in rows
        ],
        "empty": _("Nothing happened on this day."),
    }


EDGES_MS: Final = (
    *(step * 10**power for power in range(4) for step in (1, 2, 5)),
    *(10_000, 20_000, 60_000, 120_000, 300_000, 600_000, 1_800_000),
    *(3_600_000, 7_200_000, 18_000_000, 43_200_000, 86_400_000, 604_800_000),
)
"""Upper ends of a histogram's bars; what is longer falls into the last one."""


def distribution(histogram: Mapping[int, int], metric: Metric) -> Chart:
    """How many jobs waited or ran how long; bars within 1 % of where they are drawn."""
    counts = [0] * len(EDGES_MS)
    for bucket, jobs in histogram.items():
        middle = sum(bounds(bucket)) // 2
        index = next((i for i, edge in enumerate(EDGES_MS) if middle <= edge), len(EDGES_MS) - 1)
        counts[index] += jobs
    known = [i for i, count in enumerate(counts) if count]
    first, last = (max(known[0] - 1, 0), known[-1]) if known else (0, -1)
    titles = {Metric.WAIT: _("How long jobs waited"), Metric.RUN_TIME: _("How long jobs ran")}
    return {
        "title": titles[metric],
        "x": {"unit": "ms", "values": [*EDGES_MS[first : last + 1]]},
        "y": {"unit": "jobs"},
        "series": [named_series(_("jobs"), counts[first : last + 1], style="bar")],
        "empty": nothing_measured(metric),
    }


def tries(found: Iterable[TryCount]) -> Chart:
    """At which attempt jobs ended, and how."""
    jobs = {(one.attempt, one.outcome): one.jobs for one in found}
    attempts = sorted({attempt for attempt, _outcome in jobs})
    return {
        "title": _("Jobs by the attempt at which they ended"),
        "x": {"unit": "attempt", "values": attempts},
        "y": {"unit": "jobs"},
        "series": [
            meant_series(meaning, [jobs.get((attempt, meaning.value), 0) for attempt in attempts])
            for meaning in (Meaning.ACKED, Meaning.DEAD)
        ],
        "empty": _("No job was acked or died on this day."),
    }
