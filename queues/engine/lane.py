"""The way to one server: which calls travel together, and when they leave."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeAlias

from .operation import Operation
from .routing import Server
from .wire import Wire

BATCH_MAX: Final = 512
"""Operations in one pipeline."""

IN_FLIGHT_MAX: Final = 4
"""Pipelines under way at once to one server. While as many are, calls gather into the next one."""

ALONE_IN_FLIGHT_MAX: Final = 2
"""Of these, calls that travel alone: one is worked on here while Redis does the next. They have a connection of their
own, so that no small call waits for their bytes, and the others of their kind wait without holding up small calls."""

GATHER_MAX_S: Final = 0.005
"""How long calls gather, too, while fewer wait than are under way: who comes alone goes at once, and the more come, the
more go together. A server that takes longer has other reasons, and may be away."""

Call: TypeAlias = tuple[Operation[Any], asyncio.Future[Any]]
Carry: TypeAlias = Callable[[Server, list[Call]], Coroutine[Any, Any, None]]
"""Sends a batch to a server and settles its futures."""


class Lane:
    """A server that hangs holds up its own lane only."""

    __slots__ = (
        "_alone",
        "_alone_in_flight",
        "_carry",
        "_gathering",
        "_in_flight",
        "_loop",
        "_pending",
        "_server",
        "bulk_wire",
        "wire",
    )

    def __init__(self, server: Server, carry: Carry) -> None:
        self.wire = Wire(server.client)
        self.bulk_wire = Wire(server.client)
        """For calls that travel alone."""
        self._server = server
        self._carry = carry
        self._loop = asyncio.get_running_loop()
        self._pending: list[Call] = []
        self._alone: deque[Call] = deque()
        self._alone_in_flight = 0
        self._in_flight: dict[asyncio.Task[None], tuple[int, float]] = {}
        """How many calls others gather for (none for one that travels alone), and until when by the loop's clock."""
        self._gathering: asyncio.TimerHandle | None = None

    def under_way(self) -> Iterable[asyncio.Task[None]]:
        """What has left and is not back."""
        return self._in_flight

    def add(self, calls: list[Call]) -> None:
        """They leave now, or when there is room and company."""
        for call in calls:
            (self._alone if call[0].alone else self._pending).append(call)
        self._depart()

    def take_pending(self) -> list[Call]:
        """What has not left, which is no longer this lane's."""
        pending, self._pending = [*self._pending, *self._alone], []
        self._alone.clear()
        return pending

    def close(self) -> None:
        """Close the connections, for good."""
        self.wire.close()
        self.bulk_wire.close()

    def _depart(self) -> None:
        now = self._loop.time()
        while self._alone and self._alone_in_flight < ALONE_IN_FLIGHT_MAX:
            self._alone_in_flight += 1
            task = self._loop.create_task(self._carry(self._server, [self._alone.popleft()]))
            self._in_flight[task] = (0, now)
            task.add_done_callback(self._land_alone)
        if self._pending and self._is_gathering(now):
            if self._gathering is None:
                self._gathering = self._loop.call_later(GATHER_MAX_S, self._end_gathering)
            return
        while self._pending and len(self._in_flight) - self._alone_in_flight < IN_FLIGHT_MAX:
            batch, self._pending = self._pending[:BATCH_MAX], self._pending[BATCH_MAX:]
            task = self._loop.create_task(self._carry(self._server, batch))
            self._in_flight[task] = (len(batch), now + GATHER_MAX_S)
            task.add_done_callback(self._land)

    def _is_gathering(self, now: float) -> bool:
        """Whether what waits had better wait for more."""
        others = sum([calls for calls, until in self._in_flight.values() if now < until])
        return len(self._pending) < others

    def _end_gathering(self) -> None:
        self._gathering = None
        self._depart()

    def _land_alone(self, task: asyncio.Task[None]) -> None:
        self._alone_in_flight -= 1
        self._land(task)

    def _land(self, task: asyncio.Task[None]) -> None:
        del self._in_flight[task]
        self._depart()
