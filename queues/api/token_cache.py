"""What is remembered of tokens that were checked, and the tokens of waiting requests, which are checked again.

`queues.services.tokens.authentication` checks a token.

`ResolvedQueueCache` keeps resolved (access, engine, queue, policy) per token and queue for 50 ms, found by the header
that was sent. Clients send thousands of requests a second with the same token to the same queue. Each piece has a cache
of its own, but to look all of them up costs as much as the rest of a request. A revocation that is announced drops all
entries; one that is not is known here at most GOOD_FOR_S later.

`Reauthoriser` checks the tokens of waiting requests every second and at revocations, and cancels requests that are
refused. Requests with the same token share one check, and all checks of a round share one thread, so ten thousand
waiting requests cost no more than their tokens do. Waiting itself costs no task and no timer: a waiting request is
cancelled from outside, as `asyncio.timeout` does it, and the jobs that it was about to get are released.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple
from weakref import WeakSet

from queues.engine import AsyncEngine
from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.values import value
from queues.services.errors import InvalidTokenError, PoolNotFoundError
from queues.services.policies import EffectivePolicy
from queues.services.tokens import authentication
from queues.services.tokens.authentication import Access, on_revocation

logger = logging.getLogger(__name__)


GOOD_FOR_S: Final = 0.05
CACHE_SIZE: Final = 4096

_QueueKey = tuple[bytes, str, str]
"""Token, namespace, queue."""

CHECK_EVERY_S: Final = 1.0


@value
class ResolvedQueue:
    """A queue as a token may use it. `authorised_at`: when the token was checked, in monotonic seconds."""

    access: Access
    engine: AsyncEngine
    queue: QueueKeys
    policy: EffectivePolicy
    authorised_at: float


_last_revocation = 0.0
"""Monotonic seconds. What was authorised before is not used: entries are few and cheap to make again."""


def _note_revocation() -> None:
    global _last_revocation
    _last_revocation = time.monotonic()


on_revocation(_note_revocation)


class ResolvedQueueCache(threading.local):
    """One for each thread, since engines belong to its loop."""

    def __init__(self) -> None:
        self._resolved: dict[_QueueKey, ResolvedQueue] = {}

    def find(self, token: bytes | None, path: Mapping[str, str]) -> ResolvedQueue | None:
        """The entry for a token, as it was sent, and the queue of a path, if it is still fresh."""
        if not token or "queue" not in path:
            return None
        found = self._resolved.get((token, path["namespace"], path["queue"]))
        if (
            found is None
            or found.authorised_at <= _last_revocation
            or found.authorised_at <= time.monotonic() - GOOD_FOR_S
        ):
            return None
        if not found.engine.is_usable():
            return None
        return found

    def keep(self, token: bytes | None, path: Mapping[str, str], resolved: ResolvedQueue) -> None:
        """Cache it for GOOD_FOR_S from when the token was checked: a slow body may have been read since.

        Without a token in the header nothing is cached.
        """
        if token and "queue" in path:
            if len(self._resolved) >= CACHE_SIZE:
                self._resolved.clear()
            self._resolved[token, path["namespace"], path["queue"]] = resolved


class WaitingToken(NamedTuple):
    """A token as it was sent, and the namespace that it is used for."""

    pool: str
    secret: str
    namespace: str


Refusals = dict[WaitingToken, TaskqError]
Ask = Callable[[Sequence[WaitingToken]], Awaitable[Refusals]]


class _Waiter:
    __slots__ = ("refusal", "task")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.refusal: TaskqError | None = None


class Reauthoriser:
    """The waiting requests of one event loop."""

    def __init__(self, ask: Ask, *, every_s: float = CHECK_EVERY_S) -> None:
        self._ask = ask
        self._every_s = every_s
        self._waiters: dict[WaitingToken, set[_Waiter]] = {}
        self._rounds: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._revoked = asyncio.Event()
        _reauthorisers.add(self)

    def check_now(self) -> None:
        """Check now, because a token was revoked. From any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # that loop has ended, and no request waits on it
                self._loop.call_soon_threadsafe(self._revoked.set)

    @contextmanager
    def watch(self, key: WaitingToken) -> Iterator[None]:
        """Cancel the current task within the block when the token is refused; the refusal is raised instead."""
        task = asyncio.current_task()
        assert task is not None
        already_cancelling = task.cancelling()
        waiter = _Waiter(task)
        self._waiters.setdefault(key, set()).add(waiter)
        if self._rounds is None or self._rounds.done():
            self._loop = asyncio.get_running_loop()
            self._rounds = self._loop.create_task(self._run_rounds())
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

    async def _run_rounds(self) -> None:
        """Check in rounds until no request waits."""
        while self._waiters:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):  # wait_for may swallow a cancellation (Python 3.11)
                    await self._revoked.wait()
            self._revoked.clear()
            unsure = [
                key
                for key in self._waiters
                if authentication.peek_access(pool=key.pool, secret=key.secret, namespace=key.namespace) is None
            ]
            if not unsure:
                continue
            try:
                refusals = await self._ask(unsure)
            except Exception as error:
                # The requests go on waiting: a fault of the server is no reason to refuse them.
                logger.error("waiters not checked", exc_info=error, extra={"action": "http.reauthorise"})
                continue
            for key, refusal in refusals.items():
                for waiter in self._waiters.get(key, ()):
                    if waiter.refusal is None:
                        waiter.refusal = refusal
                        waiter.task.cancel()


_reauthorisers: Final[WeakSet[Reauthoriser]] = WeakSet()


def _check_all_now() -> None:
    for reauthoriser in tuple(_reauthorisers):
        reauthoriser.check_now()


on_revocation(_check_all_now)


def find_refused(keys: Sequence[WaitingToken]) -> Refusals:
    """Return those that are no longer valid, with the error. None is while the database is away. For a thread."""
    refusals: Refusals = {}
    for key in keys:
        try:
            authentication.authorise(pool=key.pool, secret=key.secret, namespace=key.namespace)
        except (InvalidTokenError, PoolNotFoundError) as error:
            refusals[key] = error
        except TaskqError:
            continue
    return refusals
