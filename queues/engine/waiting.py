"""Waiting consumers of one event loop: one subscription for all of them, first come, first served.

Waiters that wait for the same queues form a line. What moves a line: a wake-up message (as many waiters as jobs
became ready), the queues' next due time (a timer of the line), and a look once a second in case a message was lost.
In each case the *first* of the line looks; one that got a job without a message sends the next: there may be more.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
from collections import deque
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from . import limits
from .connection import connect_subscriber
from .errors import TaskqError
from .failures import is_translatable
from .keys import QueueKeys, wake_channel
from .operations.consume import consume_any
from .operations.finish import release
from .operations.inspect import result as result_operation
from .values import Consumed, JobResult, JobState

if TYPE_CHECKING:
    from .aio import AsyncEngine

logger = logging.getLogger("taskq.waiting")

_NOTHING = Consumed(jobs=())
_MESSAGE = re.compile(rb"(ready|due|done)\t([^\t]+)\t(\d+|[0-9A-Z]{26})\Z")
_DUE_MARGIN_S = 0.0005
"""The server's clock is read in whole ms: half a ms late finds the job, early would have to come again."""


class _Line:
    """Waiters for the same queues, in order of arrival."""

    __slots__ = ("names", "sleeping", "timer", "total")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        self.names = names
        self.sleeping: deque[tuple[int, asyncio.Future[bool]]] = deque()
        self.timer: asyncio.TimerHandle | None = None
        self.total = 0

    def first(self) -> int | None:
        """The arrival number of the first sleeper; those who have gone are dropped on the way."""
        while self.sleeping and self.sleeping[0][1].done():
            self.sleeping.popleft()
        return self.sleeping[0][0] if self.sleeping else None


class Waiters:
    """All waiters of an AsyncEngine."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._lines: dict[tuple[bytes, ...], _Line] = {}
        self._lines_of: dict[bytes, set[_Line]] = {}
        self._messages: dict[bytes, int] = {}
        self._results: dict[str, set[asyncio.Future[bool]]] = {}
        self._arrivals = itertools.count()
        self._subscription: asyncio.Task[None] | None = None
        self._subscribed = asyncio.Event()
        self._poll: asyncio.TimerHandle | None = None
        self._stopped = False

    @property
    def waiting(self) -> int:
        """Number of consumers that are waiting."""
        return sum(line.total for line in self._lines.values())

    async def consume(self, queues: Sequence[QueueKeys], *, timeout_s: float, **options: Any) -> Consumed:
        """See AsyncEngine.wait_consume."""
        if timeout_s <= 0 or self._stopped:
            return await self._attempt(queues, 0, options)
        await self._subscribe()
        names = tuple(queue.name for queue in queues)
        line = self._join(names)
        deadline = self._loop.time() + timeout_s
        arrival = next(self._arrivals)
        by_message = True
        try:
            while True:
                seen = [self._messages.get(name, 0) for name in names]
                consumed = await self._attempt(queues, limits.WAITING_MARK_MS, options)
                if consumed.jobs:
                    if not by_message:
                        self._wake(line)
                    return consumed
                self._set_timer(line, consumed)
                left = deadline - self._loop.time()
                if left <= 0 or self._stopped:
                    return consumed
                if seen == [self._messages.get(name, 0) for name in names]:
                    woken = await self._sleep(line, arrival, left)
                    if woken is None or self._stopped:
                        return _NOTHING
                    by_message = woken
        finally:
            self._leave(line)

    async def result(self, queue: QueueKeys, job_id: str, *, timeout_s: float) -> JobResult:
        """See AsyncEngine.wait_result."""
        deadline = self._loop.time() + timeout_s
        if timeout_s > 0:
            await self._subscribe()
        while True:
            future = self._loop.create_future()
            self._results.setdefault(job_id, set()).add(future)
            try:
                found = await self._engine.run(result_operation(queue, job_id))
                left = deadline - self._loop.time()
                if found.state in (None, JobState.COMPLETED) or left <= 0 or self._stopped:
                    return found
                await asyncio.wait([future], timeout=min(left, limits.FALLBACK_POLL_S))
            finally:
                self._results[job_id].discard(future)
                if not self._results[job_id]:
                    del self._results[job_id]

    async def stop(self) -> None:
        """Let everyone go, and end the subscription."""
        self._stopped = True
        for line in list(self._lines.values()):
            while self._wake(line):
                pass
        for futures in self._results.values():
            for future in futures:
                _settle(future, True)
        if self._poll:
            self._poll.cancel()
        if self._subscription:
            self._subscription.cancel()
            await asyncio.wait([self._subscription])

    async def _attempt(self, queues: Sequence[QueueKeys], mark_ms: int, options: dict[str, Any]) -> Consumed:
        """One look. A caller that is cancelled during it gives back what it would have got."""
        look = self._loop.create_task(self._engine.run(consume_any(queues, mark_ms=mark_ms, **options)))
        try:
            return await asyncio.shield(look)
        except asyncio.CancelledError:
            look.add_done_callback(self._give_back)
            raise

    def _give_back(self, look: asyncio.Task[Consumed]) -> None:
        if not look.cancelled() and not look.exception():
            for job in reversed(look.result().jobs):  # each goes to the head
                queue = self._engine.queue(job.namespace, job.queue)
                self._spawn(self._engine.run(release(queue, job.job_id, attempt=job.attempt)))

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(_quietly(work))
        _background.add(task)
        task.add_done_callback(_background.discard)

    async def _sleep(self, line: _Line, arrival: int, timeout_s: float) -> bool | None:
        """True: a message came; False: a timer fired; None: time is up."""
        future: asyncio.Future[bool] = self._loop.create_future()
        self._insert(line, arrival, future)
        timer = self._loop.call_later(timeout_s, _cancel, future)
        try:
            return await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # Gone while waiting. A wake-up that had reached it already belongs to the next in line.
                if future.done() and not future.cancelled():
                    self._wake(line, by_message=future.result())
                raise
            return None
        finally:
            timer.cancel()
            with contextlib.suppress(ValueError):  # whoever was woken has been taken out
                line.sleeping.remove((arrival, future))

    @staticmethod
    def _insert(line: _Line, arrival: int, future: asyncio.Future[bool]) -> None:
        """Back to the place that its arrival gives it: who looked in vain does not go to the end of the line."""
        if not line.sleeping or line.sleeping[-1][0] < arrival:
            line.sleeping.append((arrival, future))
            return
        place = 0
        while line.sleeping[place][0] < arrival:
            place += 1
        line.sleeping.insert(place, (arrival, future))

    def _wake(self, line: _Line, *, by_message: bool = False) -> bool:
        """Send the first of the line to look. False: nobody sleeps there."""
        if line.first() is None:
            return False
        _settle(line.sleeping.popleft()[1], by_message)
        return True

    def _wake_queue(self, name: bytes, count: int) -> None:
        """`count` jobs of a queue became ready: wake as many, the longest-waiting first across lines."""
        lines = self._note_message(name)
        for _ in range(count):
            waiting = [(first, line) for line in lines if (first := line.first()) is not None]
            if not waiting:
                return
            self._wake(min(waiting, key=lambda entry: entry[0])[1], by_message=True)

    def _wake_lines(self, name: bytes) -> None:
        """A queue's next due time moved: each of its lines has a timer of its own that is now too late."""
        for line in self._note_message(name):
            self._wake(line)

    def _note_message(self, name: bytes) -> Collection[_Line]:
        """The queue's lines; who is looking at this moment will see that a message came, and look again."""
        lines = self._lines_of.get(name, ())
        if lines:
            self._messages[name] = self._messages.get(name, 0) + 1
        return lines

    def _join(self, names: tuple[bytes, ...]) -> _Line:
        line = self._lines.get(names)
        if line is None:
            line = self._lines[names] = _Line(names)
            for name in names:
                self._lines_of.setdefault(name, set()).add(line)
        line.total += 1
        return line

    def _leave(self, line: _Line) -> None:
        line.total -= 1
        if line.total:
            return
        if line.timer:
            line.timer.cancel()
        del self._lines[line.names]
        for name in line.names:
            lines = self._lines_of.get(name, set())
            lines.discard(line)
            if not lines:
                self._lines_of.pop(name, None)
                self._messages.pop(name, None)

    def _set_timer(self, line: _Line, consumed: Consumed) -> None:
        """Look again when the queues' next job is due: both times are the server's, so no clock of ours matters."""
        if line.timer:
            line.timer.cancel()
            line.timer = None
        if consumed.next_due_ms is not None:
            wait_s = max(0.0, (consumed.next_due_ms - consumed.now_ms) / 1000) + _DUE_MARGIN_S
            line.timer = self._loop.call_later(wait_s, self._wake, line)

    async def _subscribe(self) -> None:
        if self._subscription is None or self._subscription.done():
            self._subscribed.clear()
            self._subscription = self._loop.create_task(self._listen())
            self._schedule_poll()
        if not self._subscribed.is_set():
            # Without a subscription waiting still works, by looking once a second.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._subscribed.wait(), limits.FALLBACK_POLL_S)

    def _schedule_poll(self) -> None:
        if self._poll:
            self._poll.cancel()
        self._poll = self._loop.call_later(limits.FALLBACK_POLL_S, self._look_again)

    def _look_again(self) -> None:
        for line in self._lines.values():
            self._wake(line)
        if not self._stopped:
            self._schedule_poll()

    async def _listen(self) -> None:
        """Follow the wake-ups of all partitions, reconnecting for as long as it takes."""
        delay_s = 0.1
        while not self._stopped:
            try:
                subscriber = connect_subscriber(self._engine.address, self._engine.client).pubsub()
                try:
                    channels = [wake_channel(partition) for partition in range(self._engine.layout.partitions)]
                    await subscriber.subscribe(*channels)
                    async for message in subscriber.listen():
                        if message["type"] == "subscribe":
                            delay_s = 0.1
                            self._subscribed.set()
                        elif message["type"] == "message":
                            self._dispatch(message["data"])
                finally:
                    await subscriber.aclose()
            except Exception as error:
                if not is_translatable(error):
                    raise
                if self._subscribed.is_set():
                    logger.warning("wake-up subscription lost", extra={"action": "subscribe", "error": str(error)})
                self._subscribed.clear()
                await asyncio.sleep(delay_s)
                delay_s = min(delay_s * 2, 5.0)

    def _dispatch(self, data: bytes) -> None:
        match = _MESSAGE.match(data)
        if match is None:
            logger.warning("not a wake-up message", extra={"action": "wake", "bytes": len(data)})
            return
        kind, name, payload = match.groups()
        if kind == b"ready":
            self._wake_queue(name, int(payload))
        elif kind == b"due":
            self._wake_lines(name)
        elif kind == b"done":
            for future in self._results.get(str(payload, "ascii"), ()):
                _settle(future, True)


_background: set[asyncio.Task[None]] = set()


def _settle(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)


def _cancel(future: asyncio.Future[bool]) -> None:
    if not future.done():
        future.cancel()


async def _quietly(work: Any) -> None:
    """A release on behalf of a caller that has gone: if it fails, the lease runs out instead."""
    try:
        await work
    except TaskqError as error:
        logger.info("release failed", extra={"action": "release", "error": error.code})
