"""Pages of the nightly reports: of days, of everything, of a namespace and of a queue."""

from __future__ import annotations

from django.urls import path

from . import day, download, home

urlpatterns = [
    path("reports/", home.reports, name="reports"),
    path("reports/<day:day>/", day.report, name="report"),
    path("reports/<day:day>/table.csv", download.report_csv, name="report_csv"),
    path("reports/<day:day>/print/", day.report_print, name="report_print"),
    path("reports/<day:day>/<str:pool>/<str:namespace>/", day.report_namespace, name="report_namespace"),
    path("reports/<day:day>/<str:pool>/<str:namespace>/<str:queue>/", day.report_queue, name="report_queue"),
    path("reports/percentiles/<str:pool>/<str:namespace>/<str:queue>/<str:metric>", home.past, name="report_past"),
]
