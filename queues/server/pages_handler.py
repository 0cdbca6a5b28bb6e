"""Django's request cycle for pages, each request in a thread of a small pool from its beginning to its end.

Runs in the pages process, which gets its connections from workers (`connection_sender`, `pages_process`).

Under Django's own ASGI handler a page of synchronous middleware and views begins a thread, opens a connection to the
database there, and closes both: two thirds of what a live section of a page took.

A page has a time limit. Python cannot stop a thread, so a page that goes on after it keeps its thread until it ends by
itself; when several do, or one does for long, `on_stuck` is called, and the process has to be replaced.

Bodies are read within bounds that depend on whether somebody is signed in.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from time import monotonic
from typing import IO, Any, Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.core import signals
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db import InterfaceError, OperationalError
from django.db.backends.signals import connection_created
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from queues.api.context import with_fresh_connections
from queues.api.http.request import Headers, Receive, Scope
from queues.pools import WorkTimeoutError, end_work_at

from .error_pages import BODY_TOO_LARGE, BODY_TOO_SLOW, BUSY, NO_DATABASE, TOO_SLOW, TOO_SLOW_TO_SAY, answer_error

logger = logging.getLogger(__name__)

THREADS: Final = 16
"""Pages that are made at the same time; most wait for Redis or the database. More of them wait for their turn."""

THREADS_PER_ADDRESS: Final = 12
"""Of these, for requests from one address: the others are left for somebody else."""

OVERDUE_MAX: Final = 4
"""Threads that may work on pages that have been given up, for at most another time limit each."""

CONNECTION_KEPT_S: Final = 10.0
"""How old a thread's connection to the database may get; Django would close it after each request."""

BODY_MAX: Final = 65_536
"""Bytes of a body before sign-in; a sign-in form has some hundred."""

BODY_MAX_S: Final = 10.0
"""How long that may take to come."""

SIGNED_IN_BODY_MAX: Final = 4 * 1_048_576
"""The same of users who are signed in: a job of 1 MiB, percent-encoded in a form, with its options."""

SIGNED_IN_BODY_MAX_S: Final = 60.0

_NAME: Final = "taskq-page"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class BodyTooLargeError(Exception):
    """It is longer than it may be; the rest has not been read."""


class ClientGoneError(Exception):
    """The client went away before it had sent everything."""


class PagesHandler(ASGIHandler):
    """ASGI. A client that goes does not end the work on its page, which is short."""

    def __init__(self) -> None:
        BaseHandler.__init__(self)  # not the next class's: it would make the middleware asynchronous
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix=_NAME)
        self._turns = Turns(per_address=THREADS_PER_ADDRESS)
        self._overdue: set[Future[Any]] = set()
        self.on_stuck: Callable[[], None] = _nothing
        """Called, on the event loop, when threads do not come back."""
        self._limit_s: float = settings.TASKQ_PAGE_TIMEOUT_S
        connection_created.connect(_keep_connection)

    async def __call__(self, scope: Scope, receive: Receive, send: Any) -> None:
        try:
            body = await read_body(scope, receive, lambda: self._in_thread(has_session, scope))
        except ClientGoneError:
            return
        except BodyTooLargeError:
            await answer_error(scope, send, BODY_TOO_LARGE, closes=True)
            return
        except TimeoutError:
            await answer_error(scope, send, BODY_TOO_SLOW, closes=True)
            return
        except (OperationalError, InterfaceError):
            await answer_error(scope, send, NO_DATABASE, closes=True)
            return
        await self._answer(scope, BytesIO(body), send)

    async def wait_for_turn(self) -> None:
        """Until a thread is free."""
        await self._in_thread(_nothing)

    async def _answer(self, scope: Scope, body: IO[bytes], send: Any) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limit_s
        address = scope["client"][0] if scope.get("client") else ""
        try:
            async with asyncio.timeout_at(until):
                await self._turns.take(address)
        except TimeoutError:
            await answer_error(scope, send, BUSY)
            return
        work = self._threads.submit(self._respond, scope, body, monotonic() + until - loop.time())
        work.add_done_callback(lambda _: _tell(loop, self._turns.give_back, address))
        if not await _is_done(work, until - loop.time()):
            if work.cancel():
                await answer_error(scope, send, BUSY)
                return
            self._give_up(scope, work)
        response = None if work in self._overdue else work.result()
        if response is None:
            await answer_error(scope, send, TOO_SLOW if scope["method"] in _SAFE else TOO_SLOW_TO_SAY)
            return
        await self.send_response(response, send)
        if response.streaming:
            await sync_to_async(response.close)()

    def _give_up(self, scope: Scope, work: Future[Any]) -> None:
        """Nobody waits for it any more; but its thread is at it."""
        loop = asyncio.get_running_loop()
        self._overdue.add(work)
        work.add_done_callback(self._overdue.discard)
        extra = {"action": "page.timeout", "path": scope["path"][:600], "overdue": len(self._overdue)}
        logger.warning("page took too long", extra=extra)
        if len(self._overdue) >= OVERDUE_MAX:
            self.on_stuck()
        else:
            loop.call_later(self._limit_s, lambda: work.done() or self.on_stuck())

    async def _in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, with_fresh_connections, function, *args)

    def _respond(self, scope: Scope, body: IO[bytes], deadline: float) -> HttpResponseBase | None:
        """None: it took too long, and was stopped when it next asked the database or Redis."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=type(self), scope=scope)
        try:
            with end_work_at(deadline):
                request, refusal = self.create_request(scope, body)
                response = self.get_response(request) if request is not None else refusal
        except WorkTimeoutError:
            signals.request_finished.send(sender=type(self))
            return None
        assert response is not None, "one of the two"
        if not response.streaming:
            response.close()  # here, where the database was used: Django looks after its connection now
        return response


async def _is_done(work: Future[Any], within_s: float) -> bool:
    """Whether it is within that time. It goes on if not."""
    watched = asyncio.wrap_future(work)
    watched.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen: it is told by `work`, too
    done, _ = await asyncio.wait({watched}, timeout=max(0.0, within_s))
    return bool(done)


def _tell(loop: asyncio.AbstractEventLoop, function: Callable[..., Any], *args: Any) -> None:
    """Call it on the event loop, from a thread, unless that has ended."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *args)


def _nothing() -> None:
    """Does nothing."""


def _keep_connection(connection: Any, **_kwargs: object) -> None:
    """Only those of the pool's threads: others have uses of their own for an end of the connection."""
    if threading.current_thread().name.startswith(_NAME):
        connection.close_at = monotonic() + CONNECTION_KEPT_S


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


class Turns:
    """Lets each address do at most `per_address` things at a time; what is more waits for its turn."""

    def __init__(self, *, per_address: int) -> None:
        self._per_address = per_address
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._users: dict[str, int] = {}

    async def take(self, address: str) -> None:
        """Wait for a turn."""
        if address not in self._semaphores:
            self._semaphores[address], self._users[address] = asyncio.Semaphore(self._per_address), 0
        self._users[address] += 1
        try:
            await self._semaphores[address].acquire()
        except BaseException:
            self._leave(address)
            raise

    def give_back(self, address: str) -> None:
        """It is the turn of the next one."""
        self._semaphores[address].release()
        self._leave(address)

    def _leave(self, address: str) -> None:
        self._users[address] -= 1
        if not self._users[address]:
            del self._semaphores[address], self._users[address]
