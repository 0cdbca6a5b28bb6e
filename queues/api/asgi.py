"""The ASGI middleware in front of Django: clients' addresses behind proxies, request ids, bodies that are read late and
within bounds, the fast path, the access log; and ASGI's lifespan messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final
from weakref import WeakKeyDictionary

from django.conf import settings

from queues.pools import close_async_engines
from queues.services.pools.load import stop_all_waiting

from .fast_path import FastPath
from .http.body import RequestBody
from .http.request import Application, Headers, Receive, Scope, Send
from .http.response import HEADER, choose_request_id
from .log_paths import loggable_path
from .logs import ACCESS_LOG, OUTAGES
from .router import decode_segment
from .routes import ROUTES

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

HOPS_MAX: Final = 16
CLAIM_MAX: Final = 1_000
"""Proxies behind each other, and characters that they write. What a client claims before that is not looked at."""

_HEADER: Final = b"x-forwarded-for"


class TrustedProxies:
    """Networks whose `X-Forwarded-For` is believed."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = networks
        self._find = lru_cache(maxsize=4096)(self._find_client)

    def restore_client(self, scope: Scope, headers: Headers) -> None:
        """Put the client's address into `scope` in place of the proxy's. Doing it again changes nothing."""
        peer = scope.get("client")
        if peer is None:
            return
        claimed = ",".join(value for rest, value in headers.starting_with(_HEADER) if not rest)
        if claimed:
            scope["client"] = (self._find(peer[0], claimed[-CLAIM_MAX:]), peer[1])

    def _find_client(self, peer: str, claimed: str) -> str:
        """Each proxy appends whom it was asked by. So the last that is none of the proxies is the client."""
        client = peer
        for hop in reversed(claimed.rsplit(",", HOPS_MAX)[-HOPS_MAX:]):
            if not self._trusts(client):
                break
            address = _parse(hop.strip())
            if address is None:
                break
            client = str(address)
        return client

    def _trusts(self, text: str) -> bool:
        address = _parse(text)
        return address is not None and any(address in network for network in self._networks)


def _parse(text: str) -> Address | None:
    """An address as proxies write it: some add the port, and IPv6 then has brackets."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


TRUSTED_PROXIES: Final = TrustedProxies(settings.TASKQ_TRUSTED_PROXIES) if settings.TASKQ_TRUSTED_PROXIES else None


SCOPE_KEY: Final = "taskq"
METRICS_PATH: Final = "/metrics"
FOUND: Final = "taskq.found"
"""In the scope: what the fast path's `find` answered, if the server has asked before."""

_OWN: Final = frozenset(route.path.split("/")[1] for route in ROUTES)
"""First segments of the paths that are ours. Bodies of all others (the admin's forms) are Django's business."""

_stopping: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]]] = WeakKeyDictionary()


class RequestState:
    """What `ApiMiddleware` knows of a request; in the scope under SCOPE_KEY."""

    __slots__ = ("body", "headers", "request_id")

    def __init__(self, request_id: bytes, headers: Headers, body: RequestBody) -> None:
        self.request_id = request_id
        self.headers = headers
        self.body = body


class ApiMiddleware:
    """An ASGI application around another. Without `fast_path` the other one gets every request."""

    def __init__(self, application: Application, *, fast_path: FastPath | None) -> None:
        self._application = application
        self._fast_path = fast_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        ACCESS_LOG.refresh_if_due()
        started = time.perf_counter() if ACCESS_LOG.enabled else 0.0
        headers = Headers(scope["headers"])
        if TRUSTED_PROXIES is not None:
            TRUSTED_PROXIES.restore_client(scope, headers)
        request_id = choose_request_id(headers.first.get(HEADER))
        body = RequestBody(scope["http_version"], headers, receive)
        status = 0
        try:
            found = scope.get(FOUND)
            if found is None and self._fast_path is not None:
                found = self._fast_path.find(scope)
            if self._fast_path is not None and found is not None:
                status = await self._fast_path.serve(found, scope, headers, body, request_id, send)
            else:
                status = await self._call_application(scope, headers, body, request_id, receive, send)
        finally:
            if started:
                _log(scope, status, started, request_id)

    def stop_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer the consumers that wait on this loop with no job, now and from now on. May be called again.

        A graceful stop does not wait for long polls: the server calls this before it lets requests finish.
        """
        if loop not in _stopping:
            _stopping[loop] = loop.create_task(stop_all_waiting())

    async def _call_application(
        self, scope: Scope, headers: Headers, body: RequestBody, request_id: bytes, receive: Receive, send: Send
    ) -> int:
        """Call the application behind. Returns the status that it answered; 0: the client disconnected before."""
        own = is_own(scope)
        scope[SCOPE_KEY] = RequestState(request_id, headers, body)
        status = 0

        async def send_with_id(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (HEADER, request_id)]
                if own:
                    await body.drain()
            await send(message)

        await self._application(scope, body.receive_for_django if own else receive, send_with_id)
        return status


def is_own(scope: Scope) -> bool:
    """Whether the path is the API's. Its first segment is decoded as the router does: to it, `/%61pi` is `/api`."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.startswith(b"/") and decode_segment(path.split(b"/", 2)[1]) in _OWN


def is_api_to_django(scope: Scope) -> bool:
    """The same of the path as Django knows it: decoded, so that `/api%2Fx` is the API's, too."""
    return is_own(scope) or any(first in _OWN for first in scope["path"].split("/", 2)[1:2])


def _log(scope: Scope, status: int, started: float, request_id: bytes) -> None:
    """Write a line to the access log. Status 0: the client disconnected before there was one."""
    client = scope.get("client")
    ACCESS_LOG.write(
        method=scope["method"],
        path=loggable_path(scope["method"], scope.get("raw_path") or scope["path"].encode()),
        status=status,
        duration_ms=(time.perf_counter() - started) * 1000,
        client=client[0] if client else "",
        request_id=request_id.decode("ascii"),
    )


async def answer_lifespan(receive: Receive, send: Send) -> None:
    """On shutdown, waiting consumers are answered at once instead of being cut off."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await close_async_engines()
            OUTAGES.flush()
            await send({"type": "lifespan.shutdown.complete"})
            return
