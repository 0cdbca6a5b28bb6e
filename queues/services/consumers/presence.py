"""Tells each pool, every few seconds, which consumers wait at this process, for people to see on any other."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary, ref

from queues.engine import AsyncEngine, tell_waiting
from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation
from queues.engine.stats.attendance import Attendance, Place

logger = logging.getLogger(__name__)

TELL_EVERY_S: Final = 3.0
FIRST_WORD_S: Final = 0.2
"""How soon it is told that somebody waits where nobody did."""

PROCESS_ID: Final = f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(3)}"
"""Of this process: host, process, and something that no later process with the same number has."""

_numbers = count(1)


class _Teller:
    """Of one engine. A timer of its event loop runs as long as there is something to tell; nothing is done per call."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.attendance = Attendance()
        self._engine = ref(engine)
        self._loop = asyncio.get_running_loop()
        self._name = f"{PROCESS_ID}:{next(_numbers)}"
        self._timer: asyncio.TimerHandle | None = None
        self._telling: asyncio.Task[None] | None = None
        self._in_trouble = False

    def wake(self) -> None:
        """There is something to tell."""
        if self._timer is None:
            self._timer = self._loop.call_later(FIRST_WORD_S, self._tell)

    def _tell(self) -> None:
        self._timer = None
        engine = self._engine()
        if engine is None or not engine.is_usable():
            return
        beat = self.attendance.summary(self._name)
        if self._telling is None or self._telling.done():  # else Redis has not answered yet
            self._telling = self._loop.create_task(self._send(engine, tell_waiting(beat)))
        if not beat.is_empty:
            self._timer = self._loop.call_later(TELL_EVERY_S, self._tell)

    async def _send(self, engine: AsyncEngine, operation: Operation[int]) -> None:
        try:
            await engine.run(operation)
        except TaskqError as error:
            if not self._in_trouble:
                logger.warning("waiting consumers not told of", extra={"action": "presence", "reason": str(error)})
            self._in_trouble = True
        else:
            self._in_trouble = False


_tellers: WeakKeyDictionary[AsyncEngine, _Teller] = WeakKeyDictionary()


@contextmanager
def waiting_here(*, engine: AsyncEngine, queues: Sequence[QueueKeys], consumer: str, address: str) -> Iterator[None]:
    """While in here, somebody from `address` waits for jobs of `queues`, all of one namespace."""
    teller = _tellers.get(engine)
    if teller is None:
        teller = _tellers[engine] = _Teller(engine)
    place = Place(queues[0].namespace, tuple([queue.queue for queue in queues]), consumer, address)
    teller.attendance.enter(place)
    teller.wake()
    try:
        yield
    finally:
        teller.attendance.leave(place)
