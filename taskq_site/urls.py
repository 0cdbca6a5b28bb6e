"""Root of all URLs: admin, the API (whose routes begin with their own prefixes) and the dashboard."""

from __future__ import annotations

from typing import NoReturn

from django.contrib import admin
from django.http import Http404, HttpRequest
from django.urls import include, path, re_path

from .static_files import static_file


def _refuse_view_on_site(request: HttpRequest) -> NoReturn:
    raise Http404


urlpatterns = [
    # In front of Django's `admin/r/<path>/<path>/` ("View on site", which no model here has): to match that one takes
    # quadratic time, a minute and a half for a path of 60,000 slashes, before anybody is asked who they are.
    re_path(r"^admin/r/", _refuse_view_on_site),
    path("admin/", admin.site.urls),
    path("static/<path:path>", static_file),
    path("", include("queues.api.urls")),
    path("", include("dashboard.urls")),
]

handler400 = "taskq_site.errors.bad_request"
handler403 = "taskq_site.errors.permission_denied"
handler404 = "taskq_site.errors.not_found"
handler500 = "taskq_site.errors.server_error"
