"""Long polls outlive tokens: who waits is asked again every second and on news of a revocation, and sent away once the
token is refused.

Waiters with the same token share one question, and all questions of a round share one thread, so that ten thousand
waiters cost no more than their tokens do. Waiting itself costs no task and no timer: a waiter that has to go is
cancelled from outside, as `asyncio.timeout` does it, and whatever it was about to be given goes back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple
from weakref import WeakSet

from queues.engine.errors import TaskqError
from queues.services.errors import InvalidTokenError, PoolNotFoundError
from queues.services.tokens import access as access_service
from queues.services.tokens.access import on_revocation

logger = logging.getLogger(__name__)

EVERY_S: Final = 1.0


class Key(NamedTuple):
    """A token as it was sent, and what it is to open."""

    pool: str
    secret: str
    namespace: str


Refusals = dict[Key, TaskqError]
Ask = Callable[[Sequence[Key]], Awaitable[Refusals]]


class _Waiter:
    __slots__ = ("refusal", "task")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.refusal: TaskqError | None = None


class Reauthoriser:
    """Those who wait on one event loop."""

    def __init__(self, ask: Ask, *, every_s: float = EVERY_S) -> None:
        self._ask = ask
        self._every_s = every_s
        self._waiters: dict[Key, set[_Waiter]] = {}
        self._rounds: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._revoked = asyncio.Event()
        _everywhere.add(self)

    def hurry(self) -> None:
        """A token was revoked: ask now. From any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # that loop has ended, and nobody waits on it
                self._loop.call_soon_threadsafe(self._revoked.set)

    @contextmanager
    def watch(self, key: Key) -> Iterator[None]:
        """While in here, the current task is interrupted when the token is refused: then raises why."""
        task = asyncio.current_task()
        assert task is not None
        already_cancelling = task.cancelling()
        waiter = _Waiter(task)
        self._waiters.setdefault(key, set()).add(waiter)
        if self._rounds is None or self._rounds.done():
            self._loop = asyncio.get_running_loop()
            self._rounds = self._loop.create_task(self._go_round())
        try:
            yield
        except asyncio.CancelledError:
            if waiter.refusal is not None and task.uncancel() <= already_cancelling:
                raise waiter.refusal from None
            raise
        finally:
            waiters = self._waiters[key]
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[key]

    async def _go_round(self) -> None:
        """Until nobody waits."""
        while self._waiters:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):  # wait_for may swallow a cancellation (Python 3.11)
                    await self._revoked.wait()
            self._revoked.clear()
            unsure = [
                key
                for key in self._waiters
                if access_service.peek_access(pool=key.pool, secret=key.secret, namespace=key.namespace) is None
            ]
            if not unsure:
                continue
            try:
                refusals = await self._ask(unsure)
            except Exception as error:
                # Waiters go on: a fault of ours is no reason to send away those who did nothing wrong.
                logger.error("waiters not checked", exc_info=error, extra={"action": "http.reauthorise"})
                continue
            for key, refusal in refusals.items():
                for waiter in self._waiters.get(key, ()):
                    if waiter.refusal is None:
                        waiter.refusal = refusal
                        waiter.task.cancel()


_everywhere: Final[WeakSet[Reauthoriser]] = WeakSet()


def _hurry_all() -> None:
    for reauthoriser in tuple(_everywhere):
        reauthoriser.hurry()


on_revocation(_hurry_all)


def ask_again(keys: Sequence[Key]) -> Refusals:
    """Which of them open nothing any more. While the database is away nobody is refused. For a thread."""
    refusals: Refusals = {}
    for key in keys:
        try:
            access_service.authorise(pool=key.pool, secret=key.secret, namespace=key.namespace)
        except (InvalidTokenError, PoolNotFoundError) as error:
            refusals[key] = error
        except TaskqError:
            continue
    return refusals
