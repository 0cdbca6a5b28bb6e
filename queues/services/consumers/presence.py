"""Reports to each pool, every few seconds, which consumers wait at this process; any process can show them."""

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
from queues.engine.stats.consumers import ConsumerKey, WaitingConsumers

logger = logging.getLogger(__name__)

REPORT_EVERY_S: Final = 3.0
FIRST_REPORT_S: Final = 0.2
"""How soon the first waiting consumer is reported."""

PROCESS_ID: Final = f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(3)}"
"""Of this process: host, process, and something that no later process with the same number has."""

_numbers = count(1)


class _Reporter:
    """Of one engine. A timer of its event loop runs as long as there is something to report."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.waiting_consumers = WaitingConsumers()
        self._engine = ref(engine)
        self._loop = asyncio.get_running_loop()
        self._name = f"{PROCESS_ID}:{next(_numbers)}"
        self._timer: asyncio.TimerHandle | None = None
        self._reporting: asyncio.Task[None] | None = None
        self._in_trouble = False

    def wake(self) -> None:
        """Report soon, unless a report is scheduled."""
        if self._timer is None:
            self._timer = self._loop.call_later(FIRST_REPORT_S, self._report)

    def _report(self) -> None:
        self._timer = None
        engine = self._engine()
        if engine is None or not engine.is_usable():
            return
        beat = self.waiting_consumers.summary(self._name)
        if self._reporting is None or self._reporting.done():  # else Redis has not answered yet
            self._reporting = self._loop.create_task(self._send(engine, tell_waiting(beat)))
        if not beat.is_empty:
            self._timer = self._loop.call_later(REPORT_EVERY_S, self._report)

    async def _send(self, engine: AsyncEngine, operation: Operation[int]) -> None:
        try:
            await engine.run(operation)
        except TaskqError as error:
            if not self._in_trouble:
                logger.warning(
                    "waiting consumers cannot be reported", extra={"action": "presence", "reason": str(error)}
                )
            self._in_trouble = True
        else:
            self._in_trouble = False


_reporters: WeakKeyDictionary[AsyncEngine, _Reporter] = WeakKeyDictionary()


@contextmanager
def waiting_here(*, engine: AsyncEngine, queues: Sequence[QueueKeys], consumer: str, address: str) -> Iterator[None]:
    """Within the context, a consumer from `address` counts as waiting for jobs of `queues`, all of one namespace."""
    reporter = _reporters.get(engine)
    if reporter is None:
        reporter = _reporters[engine] = _Reporter(engine)
    key = ConsumerKey(queues[0].namespace, tuple([queue.queue for queue in queues]), consumer, address)
    reporter.waiting_consumers.enter(key)
    reporter.wake()
    try:
        yield
    finally:
        reporter.waiting_consumers.leave(key)
