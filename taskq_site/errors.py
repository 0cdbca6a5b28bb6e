"""Pages for what no view answered. JSON for programs, a plain page for browsers; nothing of the request is repeated."""

from __future__ import annotations

import logging
import sys
from typing import Final

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

RETRY_AFTER_S: Final = 5
_OUTAGES: Final = (OperationalError, InterfaceError)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: a host that ALLOWED_HOSTS does not list, a path that leaves its directory."""
    return _answer(request, 400, "bad request", "This request makes no sense here.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    return _answer(request, 404, "api not found", "There is no such page.")


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 with Retry-After while the database is away. Django calls this while it handles the exception."""
    if isinstance(sys.exception(), _OUTAGES):
        response = _answer(
            request, 503, "metadata unavailable", "The database cannot be reached. Queues go on working."
        )
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
    return _answer(request, 500, "internal error", "Something went wrong here. The log says what.")


def _answer(request: HttpRequest, status: int, error: str, text: str) -> HttpResponse:
    if "text/html" not in request.headers.get("Accept", ""):
        return JsonResponse({"error": error}, status=status)
    return HttpResponse(render_to_string("error.html", {"status": status, "text": text}), status=status)
