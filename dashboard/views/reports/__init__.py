"""Pages of the nightly reports: of days, of everything, of a namespace and of a queue."""

from __future__ import annotations

from django.urls import path

from . import cost, day, download, forecast, home

urlpatterns = [
    path("reports/", home.reports, name="reports"),
    path("reports/cost/", cost.cost, name="report_cost"),
    path("reports/cost.csv", cost.cost_csv, name="report_cost_csv"),
    path("reports/cost.json", cost.cost_json, name="report_cost_json"),
    path("reports/forecast/", forecast.forecast, name="report_forecast"),
    path("reports/forecast.csv", forecast.forecast_csv, name="report_forecast_csv"),
    path("reports/forecast.json", forecast.forecast_json, name="report_forecast_json"),
    path("reports/<day:day>/", day.report, name="report"),
    path("reports/<day:day>/table.csv", download.report_csv, name="report_csv"),
    path("reports/<day:day>/print/", day.report_print, name="report_print"),
    path("reports/<day:day>/<str:pool>/<str:namespace>/", day.report_namespace, name="report_namespace"),
    path("reports/<day:day>/<str:pool>/<str:namespace>/<str:queue>/", day.report_queue, name="report_queue"),
    path("reports/percentiles/<str:pool>/<str:namespace>/<str:queue>/<str:metric>", home.past, name="report_past"),
]
