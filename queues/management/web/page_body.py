"""Reads the body of a request for a page, within bounds that depend on whether somebody is signed in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from io import BytesIO
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest

from queues.api.http.request import Headers, Receive, Scope

BODY_MAX: Final = 65_536
"""Bytes of a body before sign-in; a sign-in form has some hundred."""

BODY_MAX_S: Final = 10.0
"""How long that may take to come."""

SIGNED_IN_BODY_MAX: Final = 4 * 1_048_576
"""The same of users who are signed in: a job of 1 MiB, percent-encoded in a form, with its options."""

SIGNED_IN_BODY_MAX_S: Final = 60.0


class BodyTooLargeError(Exception):
    """It is longer than it may be; the rest has not been read."""


class ClientGoneError(Exception):
    """The client went away before it had sent everything."""


async def read_body(scope: Scope, receive: Receive, is_signed_in: Callable[[], Awaitable[bool]]) -> bytes:
    """The body. `is_signed_in` is asked once, and only about bodies of more than BODY_MAX.

    Raises BodyTooLargeError, TimeoutError, ClientGoneError, and what `is_signed_in` raises.
    """
    declared = _declared(scope)
    body = bytearray()
    limit, has_more = BODY_MAX, True
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with asyncio.timeout_at(started + BODY_MAX_S) as bound:
        while has_more or len(body) > limit:
            if max(declared, len(body)) > limit:
                if limit == SIGNED_IN_BODY_MAX or not await is_signed_in():
                    raise BodyTooLargeError
                limit = SIGNED_IN_BODY_MAX
                bound.reschedule(started + SIGNED_IN_BODY_MAX_S)
                continue
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            body += message.get("body", b"")
            has_more = message.get("more_body", False)
    return bytes(body)


def has_session(scope: Scope) -> bool:
    """Whether the request comes with the session of a user who is signed in. Slow: for a thread."""
    request: Any = ASGIRequest(dict(scope), BytesIO())
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return False
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return bool(get_user(request).is_authenticated)


def _declared(scope: Scope) -> int:
    """What Content-Length says; 0 if it says nothing."""
    length = Headers(scope["headers"]).get(b"content-length")
    return int(length) if length.isdigit() else 0
