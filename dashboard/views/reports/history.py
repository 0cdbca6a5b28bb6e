"""Latency percentiles of past days, for the page of a queue."""

from __future__ import annotations

from typing import Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from dashboard.views.access import page
from queues.services.reporting.days import today
from queues.services.reporting.reading import read_series
from queues.services.reporting.values import Metric

from .pictures import percentiles_by_day

DAYS: Final = 28

METRICS: Final = (Metric.WAIT, Metric.RUN)


@page
def past(request: HttpRequest, pool: str, namespace: str, queue: str, metric: str) -> HttpResponse:
    """p50, p95 and p99 of waiting or running, day by day, for charts.js."""
    if metric not in METRICS:
        raise Http404
    days = read_series(user=request.user, pool=pool, namespace=namespace, queue=queue, until=today(), days=DAYS)
    return JsonResponse(percentiles_by_day(days, Metric(metric)))
