"""What the page of a day shows of everything, of a namespace or of a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.series import Meaning
from queues.services.objectives.budgets import read_budget
from queues.services.permissions import User
from queues.services.reporting.presenting.account import Account, read_account
from queues.services.reporting.presenting.figures import as_rows, note_on_times, times_of
from queues.services.reporting.reading.day_reports import read_queue, read_series, reported_days
from queues.services.reporting.reading.merging import merge_day, merge_range, read_busiest, read_sums
from queues.services.reporting.values import Figures, Metric

from . import charts
from .charts import Of
from .home import short_weekday
from .scopes import ReportScope

Context = dict[str, Any]

DAYS: Final = 28
MERGED: Final = (7, 28)
"""Days that are told as one."""

MEASURES: Final[Mapping[str, tuple[Any, str, Of]]] = {
    "published": (gettext_lazy("Published"), "jobs", lambda one: one.published),
    "consumed": (gettext_lazy("Delivered"), "jobs", lambda one: one.consumed),
    "failed": (gettext_lazy("Failed"), "jobs", lambda one: one.failed),
    "wait": (gettext_lazy("Wait p95"), "ms", lambda one: one.wait.p95),
}
"""What the heat map may show: title, unit, value."""

MEANINGS: Final[Mapping[str, Meaning]] = {
    "published": Meaning.PUBLISHED,
    "consumed": Meaning.CONSUMED,
    "failed": Meaning.FAILED,
    "wait": Meaning.P95,
}


def contents_of_everything(*, user: User, day: date, measure: str) -> Context | None:
    """All namespaces that `user` may see. None: of none anything is known. Raises MetadataUnavailableError."""
    account = read_account(user=user, day=day)
    if account is None:
        return None
    days = _days_until(day)
    sums = read_sums(user=user, days=days)
    reported = reported_days(days[0], day)
    found = {one: sums.get(one) for one in days if one in reported}
    context = _told(account, day)
    context["charts"]["days"] = charts.day_by_day(days, found)
    return context | _heat(user, day, ReportScope(), measure)


def contents_of_scope(*, user: User, day: date, scope: ReportScope, measure: str) -> Context | None:
    """A namespace or a queue. None: nothing is known of it on that day.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    names: Any = {"pool": scope.pool, "namespace": scope.namespace, "queue": scope.queue}
    account = read_account(user=user, day=day, **names)
    if account is None:
        return None
    series = read_series(user=user, until=day, days=DAYS, with_hours=True, **names)
    found = {one.day: one.row.figures if one.row else None for one in series if one.has_report}
    merged = [(days, merge_range(user=user, until=day, days=days, **names)) for days in MERGED]
    title, unit, of = MEASURES[measure]
    first = next((scope for scope, one in enumerate(series) if one.has_report), 0)
    context = _told(account, day) | {
        "row": account.reports[0].row,
        "merged": merged,
        "merged_rows": as_rows([account.figures, *(one.figures for _days, one in merged)]),
        "rhythm_height": charts.heat_height(len(series) - first),
        "measure": measure,
        "measures": MEASURES,
    }
    context["charts"] |= {
        "days": charts.day_by_day([one.day for one in series], found),
        "waits": charts.percentiles_by_day(series, Metric.WAIT),
        "runs": charts.percentiles_by_day(series, Metric.RUN_TIME),
        "rhythm": charts.hours_of_days(
            series[first:],
            of=of,
            unit=unit,
            meaning=MEANINGS[measure],
            title=_by_day(title),
            names=lambda one: f"{short_weekday(one)} {one:%m-%d}",
        ),
    }
    if not scope.queue:
        return context | _heat(user, day, scope, measure)
    if objective := account.reports[0].row.objective:
        budget = read_budget(user=user, until=day, shown=DAYS, target=objective.target, **names)
        context["budget"] = budget
        context["charts"]["budget"] = charts.budget_by_day(budget.series)
    return context


def charts_of_hours(account: Account, day: date) -> Context:
    """Jobs by hour, and how long they waited. Of several namespaces the percentiles by hour are told apart, because
    they cannot be added up; how long jobs ran is told of one only."""
    flow = {"flow": charts.flow(account.hours, until=until_hour(day, account.time_zone))}
    if account.tells_namespace:
        return flow | {"wait": charts.percentile_of_namespaces(account.reports)}
    waits, runs = (charts.percentiles(account.hours, metric) for metric in (Metric.WAIT, Metric.RUN_TIME))
    return flow | {"wait": waits, "run": runs}


def until_hour(day: date, time_zone: str = "") -> int:
    """Hours of the day that have begun: 24 unless it is today. `time_zone` "": UTC."""
    now = datetime.now(ZoneInfo(time_zone) if time_zone else UTC)
    return now.hour + 1 if day == now.date() else 24


def hours_and_figures(*, user: User, day: date, scope: ReportScope) -> tuple[Sequence[Figures], Figures | None]:
    """Of that scope and day, to hold beside another's. Raises NamespaceNotFoundError, MetadataUnavailableError."""
    if not scope.namespace:
        merged = merge_day(user=user, day=day)
        return merged.hours, merged.figures if merged.hours else None
    report = read_queue(user=user, day=day, pool=scope.pool, namespace=scope.namespace, queue=scope.queue)
    return (report.hours, report.row.figures) if report else ((), None)


def _told(account: Account, day: date) -> Context:
    histograms = account.histograms
    return {
        "figures": account.figures,
        "key_figures": account.key_figures,
        "times": times_of(account.figures),
        "times_note": note_on_times(account.figures),
        "namespaces": account.namespaces,
        "tells_namespace": account.tells_namespace,
        "notes": account.notes,
        "objectives": account.objectives,
        "charts": charts_of_hours(account, day)
        | {
            "backlog": charts.backlog(account.hours, until=until_hour(day, account.time_zone)),
            "wait_spread": charts.distribution(histograms[Metric.WAIT], Metric.WAIT),
            "run_spread": charts.distribution(histograms[Metric.RUN_TIME], Metric.RUN_TIME),
            "tries": charts.tries(account.tries),
        },
    }


def _heat(user: User, day: date, scope: ReportScope, measure: str) -> Context:
    rows = read_busiest(user=user, day=day, pool=scope.pool, namespace=scope.namespace)
    title, unit, of = MEASURES[measure]
    return {
        "heat": charts.busiest_hours(rows, of=of, title=_by_queue(title), unit=unit, meaning=MEANINGS[measure]),
        "heat_height": charts.heat_height(len(rows)),
        "measure": measure,
        "measures": MEASURES,
    }


def _days_until(day: date) -> list[date]:
    return [day - timedelta(days=back) for back in reversed(range(DAYS))]


def _by_queue(title: str) -> str:
    return _("%(figure)s by queue and hour") % {"figure": title}


def _by_day(title: str) -> str:
    return _("%(figure)s by day and hour") % {"figure": title}
