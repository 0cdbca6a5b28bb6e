"""Root of all URLs: admin, the API (whose routes begin with their own prefixes) and the dashboard."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from .static_files import static_file

urlpatterns = [
    path("admin/", admin.site.urls),
    path("static/<path:path>", static_file),
    path("", include("queues.api.urls")),
    path("", include("dashboard.urls")),
]

handler400 = "taskq_site.errors.bad_request"
handler403 = "taskq_site.errors.permission_denied"
handler404 = "taskq_site.errors.not_found"
handler500 = "taskq_site.errors.server_error"
