"""Middleware: what browsers are told to refuse, on every page; and device cookies and answers of sign-ins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import ceil
from typing import Any, Final

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

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # the admin's own styles have pictures in them
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
"""Everything comes from here, and nothing that stands in a page itself is run: no script, style or handler in HTML."""

PERMISSIONS_POLICY: Final = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS_POLICY,
}
"""Django's own middleware adds nosniff, Referrer-Policy, Cross-Origin-Opener-Policy and X-Frame-Options."""

Handler = Callable[[HttpRequest], Any]
AsyncHandler = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def security_headers(get_response: Handler) -> Handler | AsyncHandler:
    """Set HEADERS on each response that has not its own."""
    if not iscoroutinefunction(get_response):

        def middleware(request: HttpRequest) -> HttpResponseBase:
            return _with_headers(get_response(request))

        return middleware

    async def async_middleware(request: HttpRequest) -> HttpResponseBase:
        return _with_headers(await get_response(request))

    return async_middleware


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


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
