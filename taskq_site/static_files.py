"""Static files through Django's finders: a handful of small files, and no `collectstatic` to forget.

For more traffic let a proxy serve STATIC_ROOT after `collectstatic`: it answers before this does. Django's own
ASGIStaticFilesHandler would do, if a path with `..` did not end in a traceback there.
"""

from __future__ import annotations

from contextlib import closing
from typing import IO, Final, cast

from django.contrib.staticfiles.views import serve
from django.http import FileResponse, HttpRequest, HttpResponse

CACHE_CONTROL: Final = "public, max-age=300"


def static_file(request: HttpRequest, path: str) -> HttpResponse:
    """One file, or 304, or 404. Read as a whole: streaming a file from ASGI would take a thread per piece."""
    found = serve(request, path, insecure=True)  # Django's word for: also with DEBUG off
    if isinstance(found, FileResponse):
        # Not the response itself: to close that tells Django that the request is over.
        with closing(cast(IO[bytes], found.file_to_stream)) as file:
            response = HttpResponse(file.read(), headers={key: found[key] for key in ("Content-Type", "Last-Modified")})
    else:
        response = found
    response["Cache-Control"] = CACHE_CONTROL
    return response
