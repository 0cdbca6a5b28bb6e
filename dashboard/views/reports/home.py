"""Where reports are entered: the latest one, the day that was asked for, or what to do when there is none.

Also the picker (five weeks of days as a calendar, and how each one's report stands) and the latency percentiles of past
days, for the page of a queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.formats import date_format

from dashboard.views.decorators import page
from queues.services.permissions import User
from queues.services.reporting.reading.day_reports import read_series
from queues.services.reporting.reading.days import latest_day, list_days, today, yesterday
from queues.services.reporting.values import DayEntry, DayState, Metric

from .charts import percentiles_by_day
from .scopes import FIRST_DAY, ReportScope, read_day, scope_in

WEEKS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedDay:
    """A day of the picker. `url` "": it has no page. `begins_month`: the month's name belongs beside it."""

    entry: DayEntry
    url: str
    is_shown: bool
    begins_month: bool

    @property
    def mark(self) -> str:
        """reported, demo, running, failed, kept (failed, but an earlier report is there), missing or none."""
        entry = self.entry
        if not self.url:
            return "none"
        if entry.state is DayState.RUNNING:
            return "failed" if entry.is_stalled else "running"
        if entry.state is DayState.FAILED:
            return "kept" if entry.has_report else "failed"
        if entry.state is DayState.MISSING:
            return "missing"
        return "demo" if entry.is_demo else "reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """`earlier`, `later`: pages of the days that lie a picker's length away; "" if there are none."""

    days: tuple[PickedDay, ...]
    before: str
    after: str
    earlier: str
    later: str


def short_weekday(day: date) -> str:
    """`Wed`. Chinese abbreviations are as long as the names, and differ in their last character only."""
    name = date_format(day, "D")
    return name if name.isascii() else name[-1]


def make_picker(*, scope: ReportScope, shown: date, known: Sequence[DayEntry], latest: date) -> Picker:
    """Whole weeks, Monday to Sunday: the latest ones if `shown` is in these, else those that end with its week.

    `latest`: the day that it is there."""
    by_day = {entry.day: entry for entry in known}
    newest = max([shown, latest, *by_day])
    end = newest if (newest - shown).days < 7 * (WEEKS - 1) else shown
    last = end + timedelta(days=6 - end.weekday())
    span = [last - timedelta(days=back) for back in reversed(range(7 * WEEKS))]
    first_known = min(by_day, default=shown)

    def url_of(day: date) -> str:
        return scope.url(day) if FIRST_DAY <= day <= latest else ""

    return Picker(
        days=tuple(
            PickedDay(
                entry=by_day.get(day, DayEntry(day=day, state=DayState.MISSING)),
                url=url_of(day),
                is_shown=day == shown,
                begins_month=day.day == 1 or day == span[0],
            )
            for day in span
        ),
        before=url_of(shown - timedelta(days=1)),
        after=url_of(shown + timedelta(days=1)),
        earlier=url_of(span[0] - timedelta(days=1)) if first_known < span[0] else "",
        later=url_of(min(last + timedelta(days=7 * WEEKS), latest)) if last < latest else "",
    )


DEMO_DAYS: Final = 14
"""Of made-up history, in the words of the page."""


@page
def reports(request: HttpRequest) -> HttpResponse:
    """`?day=` of the field that leads to a day; with `pool`, `namespace`, `queue` to the day of one of these."""
    day = read_day(request.GET.get("day", "")) or _newest(request.user)
    if day is None:
        demo = {"demo_from": yesterday() - timedelta(days=DEMO_DAYS - 1), "demo_to": yesterday()}
        return render(request, "dashboard/reports.html", {"report_at": settings.TASKQ_REPORT_AT} | demo)
    return redirect(scope_in(request.GET.dict()).url(day))  # which answers 404 for what is not to be seen


def _newest(user: User) -> date | None:
    """The newest day that has a report, or a run that is under way or failed; None if there never was any."""
    latest = latest_day(user=user)
    if latest is not None:
        return latest.day
    return next((entry.day for entry in list_days(user=user) if entry.state is not DayState.MISSING), None)


DAYS: Final = 28

METRICS: Final = (Metric.WAIT, Metric.RUN_TIME)


@page
def past(request: HttpRequest, pool: str, namespace: str, queue: str, metric: str) -> HttpResponse:
    """p50, p95 and p99 of waiting or running, day by day, for charts.js."""
    if metric not in METRICS:
        raise Http404
    days = read_series(user=request.user, pool=pool, namespace=namespace, queue=queue, until=today(), days=DAYS)
    return JsonResponse(percentiles_by_day(days, Metric(metric)))
