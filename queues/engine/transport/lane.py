"""The way to one server: which calls travel together, and when they leave."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

from ..operation import Operation
from .replication import ReplicaWait
from .routing import Server
from .wire import Wire

BATCH_MAX: Final = 512
"""Operations in one pipeline."""

IN_FLIGHT_MAX: Final = 4
"""Pipelines under way at once to one server. While as many are, calls gather into the next one."""

WAITING_MAX: Final = 16
"""The same of those that wait for replicas, with a connection each. While replicas are away each takes as long as the
timeout, so there must be enough of them."""

ALONE_IN_FLIGHT_MAX: Final = 2
"""Calls under way that travel alone: one is worked on here while Redis does the next. They have a connection of their
own, so that no small call waits for their bytes, and the others of their kind wait without holding up small calls."""

GATHER_MAX_S: Final = 0.005
"""How long calls gather, too, while fewer wait than are under way: who comes alone goes at once, and the more come, the
more go together. A server that takes longer has other reasons, and may be away."""

Call: TypeAlias = tuple[Operation[Any], asyncio.Future[Any]]
Carry: TypeAlias = "Callable[[Lane, Wire, list[Call]], Coroutine[Any, Any, None]]"
"""Sends a batch on a connection of the lane and settles its futures."""


class Lane:
    """A server that hangs holds up its own lane only.

    `replica_wait`: what each batch ends with. It holds up its connection until replicas have confirmed, so batches
    under way have one connection each; without it they share one, and calls that travel alone another.
    """

    __slots__ = (
        "_alone",
        "_carry",
        "_first_for_alone",
        "_first_free",
        "_free",
        "_free_for_alone",
        "_gathering",
        "_in_flight",
        "_loop",
        "_pending",
        "replica_wait",
        "server",
        "wires",
    )

    def __init__(self, server: Server, carry: Carry, replica_wait: ReplicaWait | None = None) -> None:
        self.server = server
        self.replica_wait = replica_wait
        if replica_wait is None:
            self.wires = [Wire(server.client), Wire(server.client)]
            self._free = self.wires[:1] * IN_FLIGHT_MAX
            self._free_for_alone = self.wires[1:] * ALONE_IN_FLIGHT_MAX
        else:
            self.wires = [Wire(server.client) for _ in range(WAITING_MAX)]
            self._free, self._free_for_alone = self.wires[WAITING_MAX // 2 :], self.wires[: WAITING_MAX // 2]
        self._first_free, self._first_for_alone = self._free[0], self._free_for_alone[0]
        self._carry = carry
        self._loop = asyncio.get_running_loop()
        self._pending: list[Call] = []
        self._alone: deque[Call] = deque()
        self._in_flight: dict[asyncio.Task[None], tuple[Wire, int, float]] = {}
        """Its connection, how many calls others gather for (none for one that travels alone), and until when by the
        loop's clock."""
        self._gathering: asyncio.TimerHandle | None = None

    def under_way(self) -> Iterable[asyncio.Task[None]]:
        """What has left and is not back."""
        return self._in_flight

    def add(self, calls: list[Call]) -> None:
        """They leave now, or when there is room and company."""
        for call in calls:
            (self._alone if call[0].alone else self._pending).append(call)
        self._depart()

    def wire_for(self, operation: Operation[Any]) -> Wire:
        """A connection for what another server has sent here: it goes at once, and not among calls of another kind."""
        return self._first_for_alone if operation.alone else self._first_free

    def take_pending(self) -> list[Call]:
        """What has not left, which is no longer this lane's."""
        pending, self._pending = [*self._pending, *self._alone], []
        self._alone.clear()
        return pending

    def close(self) -> None:
        """Close the connections, for good."""
        for wire in self.wires:
            wire.close()

    def _depart(self) -> None:
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

    def _send(self, batch: list[Call], wire: Wire, *, gather_until: float) -> None:
        task = self._loop.create_task(self._carry(self, wire, batch))
        is_alone = batch[0][0].alone
        self._in_flight[task] = (wire, 0 if is_alone else len(batch), gather_until)
        free = self._free_for_alone if is_alone else self._free
        task.add_done_callback(partial(self._land, free))

    def _is_gathering(self, now: float) -> bool:
        """Whether what waits had better wait for more."""
        others = sum([calls for _, calls, until in self._in_flight.values() if now < until])
        return len(self._pending) < others

    def _end_gathering(self) -> None:
        self._gathering = None
        self._depart()

    def _land(self, free: list[Wire], task: asyncio.Task[None]) -> None:
        free.append(self._in_flight.pop(task)[0])
        self._depart()
