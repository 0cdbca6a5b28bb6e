"""What browsers are told of sign-ins: the cookie that makes them known, and why an attempt was refused."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from queues.services.errors import SignInBusyError, SignInLockedError
from queues.services.sign_ins import device_cookie

from .errors import answer_error


@sync_and_async_middleware
def remember_browser(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Give a browser that has just signed in the cookie that makes it known."""
    if not iscoroutinefunction(get_response):

        def middleware(request: HttpRequest) -> HttpResponseBase:
            return _with_cookie(request, get_response(request))

        return middleware

    async def async_middleware(request: HttpRequest) -> HttpResponseBase:
        return _with_cookie(request, await get_response(request))

    return async_middleware


def answer_refusal(request: HttpRequest, _original: Any = None, _credentials: Any = None) -> HttpResponse:
    """The response to a form whose password was not looked at; AXES_LOCKOUT_CALLABLE."""
    refusal: SignInLockedError | SignInBusyError = request.sign_in_refusal  # type: ignore[attr-defined]
    if isinstance(refusal, SignInBusyError):
        status, title, text = 503, _("Too many sign-ins"), _("Others are signing in right now. Try again in a moment.")
    else:
        minutes = ceil(refusal.retry_after_s / 60)
        status, title = 429, _("Too many failed sign-ins")
        text = ngettext(
            "Try again in %(minutes)d minute, or in a browser in which you have signed in before. "
            "Users who are signed in stay signed in.",
            "Try again in %(minutes)d minutes, or in a browser in which you have signed in before. "
            "Users who are signed in stay signed in.",
            minutes,
        ) % {"minutes": minutes}
    response = answer_error(request, status, str(refusal), title, text, back=request.path)
    response["Retry-After"] = str(refusal.retry_after_s)
    return response


def _with_cookie(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    username = getattr(request, "signed_in_username", None)
    if username is not None:
        response.set_cookie(**device_cookie(request, username), secure=settings.SESSION_COOKIE_SECURE)
    return response
