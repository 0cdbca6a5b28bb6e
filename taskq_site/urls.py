"""Root of all URLs: admin, the API (whose routes begin with their own prefixes) and the dashboard."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("queues.api.urls")),
    path("", include("dashboard.urls")),
]

handler404 = "taskq_site.errors.not_found"
handler500 = "taskq_site.errors.server_error"
