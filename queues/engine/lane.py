"""The way to one server: which calls travel together, and when they leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeAlias

from .operation import Operation
from .routing import Server
from .wire import Wire

BATCH_MAX: Final = 512
"""Operations in one pipeline."""

IN_FLIGHT_MAX: Final = 4
"""Pipelines under way at once to one server. While as many are, calls gather into the next one."""

GATHER_MAX_S: Final = 0.005
"""How long calls gather, too, while fewer wait than are under way: who comes alone goes at once, and the more come, the
more go together. A server that takes longer has other reasons, and may be away."""

Call: TypeAlias = tuple[Operation[Any], asyncio.Future[Any]]
Carry: TypeAlias = Callable[[Server, list[Call]], Coroutine[Any, Any, None]]
"""Sends a batch to a server and settles its futures."""


class Lane:
    """A server that hangs holds up its own lane only."""

    __slots__ = ("_carry", "_gathering", "_in_flight", "_loop", "_pending", "_server", "wire")

    def __init__(self, server: Server, carry: Carry) -> None:
        self.wire = Wire(server.client)
        self._server = server
        self._carry = carry
        self._loop = asyncio.get_running_loop()
        self._pending: list[Call] = []
        self._in_flight: dict[asyncio.Task[None], tuple[int, float]] = {}
        """How many calls others gather for (none for one that travels alone), and until when by the loop's clock."""
        self._gathering: asyncio.TimerHandle | None = None

    def under_way(self) -> Iterable[asyncio.Task[None]]:
        """What has left and is not back."""
        return self._in_flight

    def add(self, calls: list[Call]) -> None:
        """They leave now, or when there is room and company."""
        self._pending += calls
        self._depart()

    def take_pending(self) -> list[Call]:
        """What has not left, which is no longer this lane's."""
        pending, self._pending = self._pending, []
        return pending

    def _depart(self) -> None:
        now = self._loop.time()
        if self._pending and self._is_gathering(now):
            if self._gathering is None:
                self._gathering = self._loop.call_later(GATHER_MAX_S, self._end_gathering)
            return
        while self._pending and len(self._in_flight) < IN_FLIGHT_MAX:
            batch = self._next_batch()
            task = self._loop.create_task(self._carry(self._server, batch))
            self._in_flight[task] = (0 if batch[0][0].alone else len(batch), now + GATHER_MAX_S)
            task.add_done_callback(self._land)

    def _is_gathering(self, now: float) -> bool:
        """Whether what waits had better wait for more."""
        others = sum([calls for calls, until in self._in_flight.values() if now < until])
        return len(self._pending) < others and not self._pending[0][0].alone

    def _next_batch(self) -> list[Call]:
        """Take what travels together next: up to BATCH_MAX calls, or one that travels alone."""
        size = 0
        for operation, _ in self._pending[:BATCH_MAX]:
            if operation.alone:
                size = size or 1
                break
            size += 1
        batch, self._pending = self._pending[:size], self._pending[size:]
        return batch

    def _end_gathering(self) -> None:
        self._gathering = None
        self._depart()

    def _land(self, task: asyncio.Task[None]) -> None:
        del self._in_flight[task]
        self._depart()
