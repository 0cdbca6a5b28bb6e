"""Who is staff: HTTP Basic against Django's users, or a session of the admin, the latter with its CSRF token."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from queues.pools.reading import read_metadata

from .errors import ForbiddenError, StaffOnlyError

AUTHENTICATORS: Final = (BasicAuthentication, SessionAuthentication)


def check_staff(request: HttpRequest) -> None:
    """Raise StaffOnlyError or ForbiddenError unless a staff user asks. Slow: passwords are hashed. For a thread."""
    read_metadata(lambda: _check(request))


def _check(request: HttpRequest) -> None:
    wrapped = Request(request, authenticators=[authenticator() for authenticator in AUTHENTICATORS])
    try:
        user = wrapped.user
    except AuthenticationFailed:
        raise StaffOnlyError("authentication required") from None
    except PermissionDenied:
        raise ForbiddenError("a session needs its CSRF token in the header X-CSRFToken") from None
    if user is None or not user.is_authenticated:
        raise StaffOnlyError("authentication required")
    if not user.is_staff:
        raise ForbiddenError("staff only")
