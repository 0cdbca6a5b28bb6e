"""Pages for what no view answered. JSON for programs, a plain page for browsers; nothing of the request is repeated."""

from __future__ import annotations

import logging
import sys
from typing import Final

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)

RETRY_AFTER_S: Final = 5
_OUTAGES: Final = (OperationalError, InterfaceError)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: a host that ALLOWED_HOSTS does not list, a path that leaves its directory."""
    return answer_error(request, 400, "bad request", _("Bad request"), _("The server cannot process this request."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the admin, for what its user has no permission for."""
    return answer_error(
        request,
        403,
        "forbidden",
        _("You don't have permission"),
        _("An administrator can give your group more rights."),
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: a form without its secret, or with an old one; settings.CSRF_FAILURE_VIEW.

    Scripts of our own pages send forms too, and show their readers what is answered.
    """
    title = _("This form is too old")
    text = _(
        "Nothing was changed. Load the page with the form again, sign in if it asks you to, and send it once more. "
        "Cookies must be allowed."
    )
    return answer_error(request, 403, f"{title}. {text}", title, text, back=_page_of_the_form(request))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    text = _("The address may be mistyped, or the page is gone.")
    return answer_error(request, 404, "api not found", _("Page not found"), text)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 with Retry-After while the database is away. Django calls this while it handles the exception."""
    if isinstance(sys.exception(), _OUTAGES):
        response = answer_error(
            request,
            503,
            "metadata unavailable",
            _("The database does not answer"),
            _("Pages cannot be shown right now. Queues are not affected: jobs are published, consumed and acked."),
        )
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
    text = _("This is an error in taskq. The server's log has the details.")
    return answer_error(request, 500, "internal error", _("Something went wrong"), text)


def _page_of_the_form(request: HttpRequest) -> str:
    """Where the browser says that it comes from, if that is a page of ours."""
    came_from = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    return came_from if is_ours else ""


def answer_error(
    request: HttpRequest, status: int, error: str, title: str, text: str, *, back: str = ""
) -> HttpResponse:
    """JSON with `error`, or a page with `title` and `text`. `back`: the page to load again, if there is one."""
    if "text/html" not in request.headers.get("Accept", ""):
        return JsonResponse({"error": error}, status=status)
    context = {"status": status, "title": title, "text": text, "back": back}
    return HttpResponse(render_to_string("error.html", context), status=status)
