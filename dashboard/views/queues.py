"""The page of one queue, its charts as the JSON for charts.js, its limit keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext

from dashboard.forms.jobs import (
    OrderForm,
    filter_fields,
    read_filter,
    read_latest_first,
    read_state,
    whole_number,
    write_order,
    write_query,
)
from dashboard.live_charts import minute_chart, time_axis
from dashboard.series import named_series
from queues.engine.queue_values import Spread
from queues.engine.values import JobState
from queues.services.deletions import Deletion, deletions_of_queue
from queues.services.incident_watch.visible_incidents import read_last_consumed, read_queue_incidents
from queues.services.jobs.actions import ACTS, ACTS_ON_ALL, JobAct
from queues.services.objectives.reading import read_burn_rates
from queues.services.push.reading import read_endpoint_row
from queues.services.queues.limit_keys import read_limit_keys
from queues.services.queues.page import (
    NO_FILTER,
    QueuePlace,
    count_states,
    find_jobs,
    find_place,
    read_distributions,
    read_minutes,
    read_queue_now,
)

from . import queue_actions
from .decorators import is_live, page
from .deletions import deleting
from .parameters import TEXT_MAX
from .push import STATES as PUSH_STATES

MINUTES: Final = 60
"""How much of the past a chart shows."""

_AT = "queues/<str:pool>/<str:namespace>/<str:queue>/"


Chart = dict[str, Any]


@page
def queue_chart(request: HttpRequest, pool: str, namespace: str, queue: str, kind: str) -> HttpResponse:
    """One chart."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    if kind not in CHARTS:
        raise Http404
    return JsonResponse(CHARTS[kind](place))


def _waits(place: QueuePlace) -> Chart:
    spread = read_distributions(place=place).wait
    return _histogram(
        gettext("Wait: due → delivered"), spread, gettext("Nothing was delivered in the last ten minutes.")
    )


def _runs(place: QueuePlace) -> Chart:
    spread = read_distributions(place=place).run
    return _histogram(gettext("Run: delivered → acked"), spread, gettext("Nothing was acked in the last ten minutes."))


def _histogram(title: str, spread: Spread, nothing: str) -> Chart:
    """`values` of x are the upper ends of the spans, in ms."""
    return {
        "title": title,
        "x": {"unit": "ms", "values": spread.bounds_ms},
        "y": {"unit": "jobs"},
        "series": [named_series(gettext("jobs"), spread.counts, style="bar")],
        "empty": nothing,
    }


def _minute_by_minute(kind: str, place: QueuePlace) -> Chart:
    """A chart that the overview has too, of this queue alone."""
    minutes = read_minutes(place=place, minutes=MINUTES)
    return {"x": time_axis(minutes)} | minute_chart(kind, minutes, empty=gettext("Nothing was recorded in this time."))


CHARTS: Final[Mapping[str, Callable[[QueuePlace], Chart]]] = {
    "throughput": partial(_minute_by_minute, "throughput"),
    "backlog": partial(_minute_by_minute, "backlog"),
    "wait": partial(_minute_by_minute, "wait"),
    "run": partial(_minute_by_minute, "run"),
    "waits": _waits,
    "runs": _runs,
}


Context = dict[str, Any]


@page
def queue(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """The whole page."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    push = {"row": read_endpoint_row(pool=pool, namespace=namespace, queue=queue), "states": PUSH_STATES}
    now = _now(request, place)
    jobs = _jobs(request, place, now["now"].stats.counts, now["deletions"])
    return render(request, "dashboard/queue.html", now | jobs | {"push": push})


@page
def queue_live(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """The part above the jobs, for the page to fetch again and again."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    return render(request, "dashboard/_queue_now.html", _now(request, place))


@page
def queue_jobs(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """The jobs alone: for the first page to stay up to date, and for a scan to go on."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    context = _jobs(request, place, count_states(place=place), deletions_of_queue(place=place))
    return render(request, "dashboard/_queue_jobs.html", context)


def _now(request: HttpRequest, place: QueuePlace) -> Context:
    state, wanted = read_state(request.GET), read_filter(request.GET)
    now = read_queue_now(place=place)
    tabs = [
        {"state": one, "count": now.stats.counts[one], "query": write_query(one, wanted), "current": one is state}
        for one in JobState
    ]
    burning = read_burn_rates(pool=place.pool, namespace=place.namespace, queue=place.queue)
    return {
        "place": place,
        "now": now,
        "burning": burning,
        "tabs": tabs,
        "live_query": write_query(state, wanted),
        "deletions": deletions_of_queue(place=place),
        "back": f"{queue_actions.queue_url(place)}?{write_query(state, wanted)}",
        **_incidents(request, place),
    }


def _incidents(request: HttpRequest, place: QueuePlace) -> Context:
    """What is wrong with the queue, or with its pool; and when a job was last consumed, if nobody does."""
    named = {"pool": place.pool, "namespace": place.namespace, "queue": place.queue}
    lines = read_queue_incidents(user=request.user, **named)
    shown = [line for line in lines if line.is_of_queue or line.severity != "info"]
    is_idle = any(line.kind == "no_consumer" for line in shown)
    return {"incidents": shown, "last_consumed": read_last_consumed(**named) if is_idle else None}


def _jobs(
    request: HttpRequest, place: QueuePlace, counts: Mapping[JobState, int], deletions: Sequence[Deletion]
) -> Context:
    state, wanted = read_state(request.GET), read_filter(request.GET)
    after = request.GET.get("after") or None
    latest_first = read_latest_first(request.GET, state)
    order, other_order = (write_order(state, latest_first=latest) for latest in (latest_first, not latest_first))
    found = find_jobs(place=place, state=state, wanted=wanted, after=after, latest_first=latest_first)
    looked_at = found.looked_at + (whole_number(request.GET.get("looked", "")) or 0)
    is_filtered = wanted != NO_FILTER
    looked = looked_at if is_filtered else None
    next_query = write_query(state, wanted, order=order, after=found.after, looked=looked)
    on_all = [act for act in ACTS_ON_ALL[state] if act is not JobAct.DELETE or place.may_administer]
    return {
        "place": place,
        "state": state,
        "wanted": wanted,
        "filter_fields": filter_fields(wanted),
        "found": found,
        "looked_at": min(looked_at, max(found.size, found.looked_at)),
        "is_filtered": is_filtered,
        "is_first": after is None,
        "is_live": after is None and not is_filtered,
        "state_count": counts[state],
        "query": write_query(state, wanted, order=order),
        "latest_first": latest_first,
        "other_order_query": write_query(state, wanted, order=other_order),
        "own_query": write_query(state, wanted, order=order, after=after),
        "next_query": next_query if found.after else "",
        "acts": ACTS[state] if place.may_operate else (),
        "acts_on_all": on_all if place.may_operate else (),
        "order": OrderForm(),
        **deleting(deletions, state),
    }


@page
def limit_keys(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """`?q=BEGINNING&after=...`; for live.js the part that changes."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    text, after = request.GET.get("q", "")[:TEXT_MAX], request.GET.get("after", "")[:TEXT_MAX]
    limits = read_limit_keys(pool=pool, namespace=namespace, queue=queue, text=text, after=after)
    context = {"place": place, "limits": limits, "text": text, "is_first": not after}
    return render(request, f"dashboard/{'_limit_keys' if is_live(request) else 'limit_keys'}.html", context)


urlpatterns = [
    path(_AT, queue, name="queue"),
    path(f"{_AT}now", queue_live, name="queue_live"),
    path(f"{_AT}jobs", queue_jobs, name="queue_jobs"),
    path(f"{_AT}charts/<str:kind>", queue_chart, name="queue_chart"),
    path(f"{_AT}publish/", queue_actions.publish, name="queue_publish"),
    path(f"{_AT}policy/", queue_actions.policy, name="queue_policy"),
    path(f"{_AT}empty", queue_actions.empty, name="queue_empty"),
    path(f"{_AT}pause", queue_actions.pause, name="queue_pause"),
    path(f"{_AT}resume", queue_actions.resume, name="queue_resume"),
    path(f"{_AT}flush-group", queue_actions.flush_group, name="queue_flush_group"),
    path(f"{_AT}act", queue_actions.act, name="queue_act"),
    path(f"{_AT}act-on-all", queue_actions.act_on_all, name="queue_act_on_all"),
    path(f"{_AT}limit-keys/", limit_keys, name="queue_limit_keys"),
]
