"""Root of all URLs: admin, the API (whose routes begin with their own prefixes), the dashboard and static files."""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache
from typing import IO, Final, NoReturn, cast

from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.utils.cache import patch_vary_headers

from .compression import choose_encoding, compress, is_text

CACHE_CONTROL: Final = "public, max-age=300"

FILES_KEPT: Final = 256
"""Compressed files that a process keeps: all of the dashboard's and what the admin asks for, in two encodings."""


def static_file(request: HttpRequest, path: str) -> HttpResponse:
    """One file, or 304, or 404, through Django's finders: a handful of small files, and no `collectstatic` to forget.

    Read as a whole: streaming a file from ASGI would take a thread per piece. For more traffic let a proxy serve
    STATIC_ROOT after `collectstatic`: it answers before this does. Django's own ASGIStaticFilesHandler would do, if a
    path with `..` did not end in a traceback there.
    """
    found = serve(request, path, insecure=True)  # Django's word for: also with DEBUG off
    if isinstance(found, FileResponse):
        # Not the response itself: to close that tells Django that the request is over.
        with closing(cast(IO[bytes], found.file_to_stream)) as file:
            response = HttpResponse(file.read(), headers={key: found[key] for key in ("Content-Type", "Last-Modified")})
        encoding = choose_encoding(request.headers.get("Accept-Encoding", ""))
        if encoding and is_text(response["Content-Type"]):
            response.content = _compress_once(response.content, encoding)
            response["Content-Encoding"] = encoding
    else:
        response = found
    patch_vary_headers(response, ("Accept-Encoding",))
    response["Cache-Control"] = CACHE_CONTROL
    return response


@lru_cache(maxsize=FILES_KEPT)
def _compress_once(content: bytes, encoding: str) -> bytes:
    return compress(content, encoding, kept=True)


def _refuse_view_on_site(request: HttpRequest) -> NoReturn:
    raise Http404


admin.autodiscover()

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
