"""Authenticates staff: HTTP Basic against Django's users, or a session of the admin, the latter with its CSRF token.

Superusers may do everything. Other staff may do what they may do in the admin: what their permissions allow, in the
namespaces of their groups.

Requests that a page of another site makes a browser send are refused. A browser adds the password that it keeps for
HTTP Basic to whatever goes to this server, so a form on any page could otherwise make a token. Browsers say where a
request comes from in `Sec-Fetch-Site` and `Origin`, which no page can change; programs such as curl send neither.

Passwords and sessions are checked in threads of their own. A thread waits while its password waits to be hashed
(`queues.services.sign_ins.backend`), which bounds how many do. There are more threads than that, so sessions
and passwords that need no hashing never stand behind guesses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db import DataError
from django.http import HttpRequest
from django.utils.http import is_same_domain
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from queues.pools.database import read_metadata
from queues.services.sign_ins.backend import LINE_MAX, PROGRAMS_LINE_MAX

from .context import with_fresh_connections
from .http.errors import CrossSiteError, ForbiddenError, StaffOnlyError
from .http.request import Headers
from .router import SUPERUSERS_ONLY

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_OUR_OWN: Final = frozenset({"", "same-origin", "none"})
"""Values of Sec-Fetch-Site. `none`: the person typed the address. "": the client says nothing, or is no browser."""

_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def check_origin(headers: Headers) -> None:
    """Raise CrossSiteError for a request from a page of another origin, unless CSRF_TRUSTED_ORIGINS has that origin."""
    origin = headers.get(b"origin").lower()
    if origin and _is_trusted(origin):
        return
    if headers.get(b"sec-fetch-site").lower() not in _OUR_OWN or (origin and not _is_of_host(origin, headers)):
        raise CrossSiteError(
            "cross-site request refused: a page of another origin may not do this; "
            "behind a proxy that changes the header Host, list the pages' origin in CSRF_TRUSTED_ORIGINS"
        )


def _is_of_host(origin: str, headers: Headers) -> bool:
    """Whether the origin is where the request was sent to; "null" never is."""
    scheme, separator, place = origin.partition("://")
    default_port = _DEFAULT_PORTS.get(scheme)
    if not separator or default_port is None:
        return False
    return place.removesuffix(default_port) == headers.get(b"host").lower().removesuffix(default_port)


def _is_trusted(origin: str) -> bool:
    return any(_matches(origin, trusted.lower()) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches(origin: str, trusted: str) -> bool:
    """`trusted`: as Django reads it, `https://example.org` or `https://*.example.org`."""
    if "*" not in trusted:
        return origin == trusted
    scheme, _, pattern = trusted.partition("://*")
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == scheme and is_same_domain(parts.netloc, pattern)


T = TypeVar("T")

THREADS: Final = LINE_MAX + 2 * PROGRAMS_LINE_MAX + 4
"""Strangers, known clients and suspects may wait in as many as they have places; the last four are for the rest."""

_threads: Final = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="taskq-staff")


async def call_for_staff(function: Callable[..., T], *args: Any) -> T:
    """Run `function` in one of these threads."""
    work = partial(with_fresh_connections, function, *args)
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


AUTHENTICATORS: Final = (BasicAuthentication, SessionAuthentication)


def comes_without_proof(request: HttpRequest) -> bool:
    """Whether there is nothing to check: neither a password nor a session."""
    return "HTTP_AUTHORIZATION" not in request.META and "HTTP_COOKIE" not in request.META


def check_staff(request: HttpRequest, permissions: Sequence[str]) -> Any:
    """The staff user of the request, if they have these permissions.

    Raises StaffOnlyError, ForbiddenError, SignInLockedError, SignInBusyError. Slow: passwords are hashed. For a thread.
    """
    return read_metadata(lambda: _check(request, permissions))


def _check(request: HttpRequest, permissions: Sequence[str]) -> Any:
    wrapped = Request(request, authenticators=[authenticator() for authenticator in AUTHENTICATORS])
    wrapped.is_of_program = True  # type: ignore[attr-defined]  # what the backend of passwords looks for
    try:
        user = wrapped.user
    except (AuthenticationFailed, DataError):  # no user has a name that PostgreSQL cannot store
        refusal: Exception | None = getattr(wrapped, "sign_in_refusal", None)
        raise refusal or StaffOnlyError("authentication required") from None
    except PermissionDenied:
        raise ForbiddenError("a session needs its CSRF token in the header X-CSRFToken") from None
    if user is None or not user.is_authenticated:
        raise StaffOnlyError("authentication required")
    if not user.is_staff:
        raise ForbiddenError("staff only")
    if not user.is_superuser and (SUPERUSERS_ONLY in permissions or not user.has_perms(permissions)):
        raise ForbiddenError("permission denied")
    return user
