"""Calls to one server that wait to be sent: which of them form a pipeline, and when it is sent; pauses of long work.

Deletions, respawns and reschedulings of many jobs take turns, so that other callers get most of a server's time: those
of one process together get `SHARE` of it. A step counts for as long as its caller waits for the reply, so the busier
the server, the longer the pauses. A step that comes after a quiet moment does not wait.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from ..operation import Operation
from .merging import Call
from .redis_connection import RedisConnection
from .replication import ReplicaWait
from .routing import Server

T = TypeVar("T")

SHARE: Final = 1 / 3
PAUSE_MAX_S: Final = 0.1
"""Longest pause: a server that did not answer for a while is not kept waiting for as long again."""

BATCH_MAX: Final = 512
"""Operations in one pipeline."""

IN_FLIGHT_MAX: Final = 4
"""Pipelines under way at once to one server. While as many are, calls gather into the next one."""

WAITING_MAX: Final = 16
"""The same of those that wait for replicas, with a connection each. While replicas are away each takes as long as the
timeout, so there must be enough of them."""

ALONE_IN_FLIGHT_MAX: Final = 2
"""Calls under way that are sent alone: one is worked on here while Redis does the next. They have a connection of their
own, so that no small call waits for their bytes, and the others of their kind wait without holding up small calls."""

GATHER_MAX_S: Final = 0.005
"""How long calls also gather while fewer of them wait than are under way: a single call is sent at once, and the more
calls there are, the more are sent together. A server that takes longer has other reasons, and may be away."""


def pause_after(step_s: float) -> float:
    """Seconds to leave to others after a step that took so long."""
    return min(PAUSE_MAX_S, step_s * (1 / SHARE - 1))


class Pacer:
    """For threads: one step at a time."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free_at = clock()

    def run(self, step: Callable[[], T]) -> T:
        """The result of `step`, once it is its turn."""
        with self._lock:
            if (wait := self._free_at - self._clock()) > 0:
                self._sleep(wait)
            began = self._clock()
            try:
                return step()
            finally:
                ended = self._clock()
                self._free_at = ended + pause_after(ended - began)


class AsyncPacer:
    """For one event loop: one step at a time, first come, first served."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = asyncio.Lock()
        self._free_at = self._loop.time()

    async def run(self, step: Callable[[], Awaitable[T]]) -> T:
        """The result of `step`, once it is its turn."""
        async with self._lock:
            if (wait := self._free_at - self._loop.time()) > 0:
                await asyncio.sleep(wait)
            began = self._loop.time()
            try:
                return await step()
            finally:
                ended = self._loop.time()
                self._free_at = ended + pause_after(ended - began)


SendBatch: TypeAlias = "Callable[[BatchQueue, RedisConnection, list[Call]], Coroutine[Any, Any, None]]"
"""Sends a batch on a connection of the queue and settles its futures."""


class BatchQueue:
    """Calls to one server. A server that hangs holds up its own calls only.

    `replica_wait`: what each batch ends with. It holds up its connection until replicas have confirmed, so batches
    under way have one connection each; without it they share one, and calls that are sent alone another.
    """

    __slots__ = (
        "_alone",
        "_first_for_alone",
        "_first_free",
        "_free",
        "_free_for_alone",
        "_gathering",
        "_in_flight",
        "_loop",
        "_pending",
        "_send_batch",
        "connections",
        "replica_wait",
        "server",
    )

    def __init__(self, server: Server, send_batch: SendBatch, replica_wait: ReplicaWait | None = None) -> None:
        self.server = server
        self.replica_wait = replica_wait
        if replica_wait is None:
            self.connections = [RedisConnection(server.client), RedisConnection(server.client)]
            self._free = self.connections[:1] * IN_FLIGHT_MAX
            self._free_for_alone = self.connections[1:] * ALONE_IN_FLIGHT_MAX
        else:
            self.connections = [RedisConnection(server.client) for _ in range(WAITING_MAX)]
            self._free, self._free_for_alone = (
                self.connections[WAITING_MAX // 2 :],
                self.connections[: WAITING_MAX // 2],
            )
        self._first_free, self._first_for_alone = self._free[0], self._free_for_alone[0]
        self._send_batch = send_batch
        self._loop = asyncio.get_running_loop()
        self._pending: list[Call] = []
        self._alone: deque[Call] = deque()
        self._in_flight: dict[asyncio.Task[None], tuple[RedisConnection, int, float]] = {}
        """Its connection, how many calls others gather for (none for one that is sent alone), and until when by the
        loop's clock."""
        self._gathering: asyncio.TimerHandle | None = None

    def under_way(self) -> Iterable[asyncio.Task[None]]:
        """Batches that were sent and have no reply yet."""
        return self._in_flight

    def add(self, calls: list[Call]) -> None:
        """Send them now, or with others as soon as a connection is free."""
        for call in calls:
            (self._alone if call[0].alone else self._pending).append(call)
        self._send_ready()

    def connection_for(self, operation: Operation[Any]) -> RedisConnection:
        """A connection for a call that another server has redirected here, apart from other kinds."""
        return self._first_for_alone if operation.alone else self._first_free

    def take_pending(self) -> list[Call]:
        """Remove and return the calls that were not sent yet."""
        pending, self._pending = [*self._pending, *self._alone], []
        self._alone.clear()
        return pending

    def close(self) -> None:
        """Close the connections, for good."""
        for connection in self.connections:
            connection.close()

    def _send_ready(self) -> None:
        now = self._loop.time()
        while self._alone and self._free_for_alone:
            self._send([self._alone.popleft()], self._free_for_alone.pop(), gather_until=now)
        if self._pending and self._is_gathering(now):
            if self._gathering is None:
                self._gathering = self._loop.call_later(GATHER_MAX_S, self._end_gathering)
            return
        while self._pending and self._free:
            batch, self._pending = self._pending[:BATCH_MAX], self._pending[BATCH_MAX:]
            self._send(batch, self._free.pop(), gather_until=now + GATHER_MAX_S)

    def _send(self, batch: list[Call], connection: RedisConnection, *, gather_until: float) -> None:
        task = self._loop.create_task(self._send_batch(self, connection, batch))
        is_alone = batch[0][0].alone
        self._in_flight[task] = (connection, 0 if is_alone else len(batch), gather_until)
        free = self._free_for_alone if is_alone else self._free
        task.add_done_callback(partial(self._on_reply, free))

    def _is_gathering(self, now: float) -> bool:
        """Whether the waiting calls should wait for more calls."""
        others = sum([calls for _, calls, until in self._in_flight.values() if now < until])
        return len(self._pending) < others

    def _end_gathering(self) -> None:
        self._gathering = None
        self._send_ready()

    def _on_reply(self, free: list[RedisConnection], task: asyncio.Task[None]) -> None:
        free.append(self._in_flight.pop(task)[0])
        self._send_ready()
