"""What browsers are told to refuse, on every page: dashboard, admin, documentation and errors alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

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
