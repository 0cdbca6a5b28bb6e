"""The page of a day: of everything, of a namespace, of a queue; alone, beside another day, or for paper."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from dashboard.views.decorators import is_live, page
from queues.services.permissions import check_visible
from queues.services.reporting.presenting.account import read_summary
from queues.services.reporting.presenting.figures import beside_day, words_of_uneven_hours
from queues.services.reporting.presenting.queue_list import PAGE, QueueFilter, compare_queues, list_queues
from queues.services.reporting.presenting.summary import word_summary
from queues.services.reporting.reading.day_reports import DAYS_MAX, days_that_lack_events, latest_of_queue
from queues.services.reporting.reading.days import find_day, list_days
from queues.services.reporting.values import Pair

from . import charts
from .contents import MEASURES, charts_of_hours, contents_of_everything, contents_of_scope, hours_and_figures
from .home import make_picker
from .queue_table import ONLY, columns, compared_columns, groups, name_column, read_filter, read_page
from .scopes import (
    EVERYTHING,
    FIRST_DAY,
    ReportScope,
    check_begun,
    latest_day_of,
    read_day,
    scope_in,
    scope_zones,
)

Context = dict[str, Any]

MEASURE: Final = "published"


@page
def report(request: HttpRequest, day: date) -> HttpResponse:
    """Of all that the person may see. `?with=` another day, `?heat=` measure, `?q=&only=&sort=&page=` of the table."""
    return _answer(request, day, EVERYTHING)


@page
def report_namespace(request: HttpRequest, day: date, pool: str, namespace: str) -> HttpResponse:
    """The same of a namespace."""
    return _answer(request, day, ReportScope(pool=pool, namespace=namespace))


@page
def report_queue(request: HttpRequest, day: date, pool: str, namespace: str, queue: str) -> HttpResponse:
    """The same of a queue, without the table."""
    return _answer(request, day, ReportScope(pool=pool, namespace=namespace, queue=queue))


def _answer(request: HttpRequest, day: date, scope: ReportScope) -> HttpResponse:
    """For live.js the picker and how the report stands; the address that it asks for says which report it knows."""
    if scope.namespace:
        check_visible(user=request.user, pool=scope.pool, namespace=scope.namespace)
    check_begun(day, scope)
    context = frame(request, day, scope)
    if is_live(request):
        return render(request, "dashboard/_report_state.html", context)
    return render(request, "dashboard/report.html", context | _contents(request, day, scope, context["other"]))


def frame(request: HttpRequest, day: date, scope: ReportScope) -> Context:
    """What stands above and beside the figures."""
    user = request.user
    entry = find_day(user=user, day=day, pool=scope.pool, namespace=scope.namespace)
    latest = latest_day_of(scope)
    other = read_day(request.GET.get("with", ""))
    made = entry.reported_at.isoformat() if entry.reported_at else ""
    return {
        "day": day,
        "scope": scope,
        "entry": entry,
        "is_today": day == latest,
        "time_zone": entry.time_zone or "UTC",
        "uneven_hours": words_of_uneven_hours(day, entry.time_zone),
        "made": made,
        "is_newer": is_live(request) and request.GET.get("made", "") != made,
        "picker": make_picker(scope=scope, shown=day, known=list_days(user=user, most=DAYS_MAX), latest=latest),
        "other": other if other != day else None,
        "page_url": scope.url(day),
        "parent_url": scope.parent.url(day),
        "everything_url": EVERYTHING.url(day),
        "csv_url": scope.csv_url(day) + ("&" if scope.names else "?"),  # table=... comes after
        "print_url": scope.print_url(day),
        "cost_url": scope.cost_url(day),
        "forecast_url": scope.forecast_url,
        "offers": [(scope.url(day, **{"with": f"{one}"}), title) for one, title in _offers(day)],
    }


def _offers(day: date) -> list[tuple[date, str]]:
    """Days that one may want to hold it beside."""
    offers = [(day - timedelta(days=1), _("the day before")), (day - timedelta(weeks=1), _("a week before"))]
    return [(one, title) for one, title in offers if one >= FIRST_DAY]


def _contents(request: HttpRequest, day: date, scope: ReportScope, other: date | None) -> Context:
    user = request.user
    asked = request.GET.get("heat", "")
    measure = asked if asked in MEASURES else MEASURE
    if scope.namespace:
        found = contents_of_scope(user=user, day=day, scope=scope, measure=measure)
    else:
        found = contents_of_everything(user=user, day=day, measure=measure)
    if found is None:
        names: Any = scope.names
        latest = latest_of_queue(user=user, **names) if scope.namespace else None
        return {"figures": None, "latest_url": scope.url(latest.row.day) if latest else "", "latest": latest}
    if other:
        found |= _comparison(request, day, other, scope)
    return found if scope.queue else found | _table(request, day, other, scope)


def _comparison(request: HttpRequest, day: date, other: date, scope: ReportScope) -> Context:
    hours, figures = hours_and_figures(user=request.user, day=day, scope=scope)
    other_hours, other_figures = hours_and_figures(user=request.user, day=other, scope=scope)
    days = {f"{day}": hours, f"{other}": other_hours}
    wait = [] if figures is None or all(one.wait.p95 is None for one in hours) else ["wait"]
    both = {
        "both_published": charts.comparison(_("Published by hour"), "jobs", lambda one: one.published, days),
        "both_failed": charts.comparison(_("Failed attempts by hour"), "jobs", lambda one: one.failed, days),
    }
    if wait:
        both["both_wait"] = charts.comparison(_("Wait p95 by hour"), "ms", lambda one: one.wait.p95, days)
        both["both_run"] = charts.comparison(_("Run p95 by hour"), "ms", lambda one: one.run.p95, days)
    return {
        "beside": beside_day(figures, other_figures) if figures else [],
        "both": list(both.values()),
        "other_url": scope.url(other),
        "other_known": other_figures is not None,
        "other_lacks_events": bool(days_that_lack_events(other, other, scope_zones(scope, [other]))),
    }


def _table(request: HttpRequest, day: date, other: date | None, scope: ReportScope) -> Context:
    chosen, number = read_filter(request, scope), read_page(request.GET)
    context: Context = {
        "chosen": chosen,
        "narrowed": bool(chosen.text or chosen.only),
        "only_names": ONLY,
        "name_column": name_column(chosen),
    }
    if other is None:
        table = list_queues(user=request.user, day=day, chosen=chosen, page=number)
        shown = columns(chosen)
        return (
            context
            | _pages(table.found, table.page)
            | {
                "queues": table.rows,
                "groups": groups(shown),
                "columns": shown,
            }
        )
    pairs, found = compare_queues(user=request.user, day=day, other=other, chosen=chosen, page=number)
    return (
        context
        | _pages(found, number)
        | {
            "pairs": [_told(pair, chosen, day) for pair in pairs],
            "columns": compared_columns(chosen),
        }
    )


def _told(pair: Pair, chosen: QueueFilter, day: date) -> Context:
    """A queue on two days, figure by figure."""
    cells = [
        {
            "title": column.title,
            "unit": column.unit,
            "value": pair.day.figures.value(column.key) if pair.day else None,
            "other": pair.other.figures.value(column.key) if pair.other else None,
        }
        for column in compared_columns(chosen)
    ]
    scope = ReportScope(pool=pair.pool, namespace=pair.namespace, queue=pair.queue)
    return {"pair": pair, "cells": cells, "url": scope.url(day)}


def _pages(found: int, page: int) -> Context:
    pages = max(1, -(-found // PAGE))
    page = min(page, pages)
    return {
        "found": found,
        "page": page,
        "pages": pages,
        "first": (page - 1) * PAGE + 1,
        "last": min(page * PAGE, found),
        "previous": page - 1,
        "next": page + 1,
    }


@page
def report_print(request: HttpRequest, day: date) -> HttpResponse:
    """`?pool=&namespace=&queue=`: of these alone. What the mail says, with pictures in place of its tables of hours."""
    user, scope = request.user, scope_in(request.GET.dict())
    if scope.namespace:
        check_visible(user=user, pool=scope.pool, namespace=scope.namespace)
    check_begun(day, scope)
    names: Any = scope.names
    found = read_summary(user=user, day=day, **names)
    context: dict[str, Any] = {"day": day, "scope": scope, "page_url": scope.url(day), "summary": word_summary(found)}
    if found.account is not None:
        context |= {"figures": found.account.figures, "charts": charts_of_hours(found.account, day)}
    return render(request, "dashboard/report_print.html", context)
