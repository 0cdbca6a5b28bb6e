"""Takes jobs from a worker's queues, in an order by their weights."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from queues.engine import Delivery

from ..brokers import Broker
from .options import WorkerOptions

WAIT_S: Final = 30.0
"""How long one call waits for jobs."""


class JobSource:
    """Takes jobs of a worker's queues."""

    def __init__(self, broker: Broker, options: WorkerOptions, worker_id: str) -> None:
        self._broker = broker
        self._options = options
        self._worker_id = worker_id

    async def take(self, free: int) -> tuple[Delivery, ...]:
        """Up to `free` jobs; waits for the first, unless the worker ends when there is none."""
        queues = self._order()
        waits_s = 0.0 if self._options.burst else WAIT_S
        if len(queues) > 1 and waits_s and (jobs := await self._consume(queues, free, 0.0)):
            return jobs
        if not self._options.burst:  # always in the same order: waiting calls of equal order are woken as one line
            queues = sorted(self._options.queues, key=lambda name: -self._options.queues[name])
        return await self._consume(queues, free, waits_s)

    async def _consume(self, queues: Sequence[str], count: int, timeout_s: float) -> tuple[Delivery, ...]:
        return await self._broker.consume(
            queues,
            count=count,
            ttr_ms=round(self._options.lease_s * 1_000),
            timeout_s=timeout_s,
            consumer=self._worker_id,
        )

    def _order(self) -> list[str]:
        """The queues in the order in which they are asked: by weight, or in a weighted random order."""
        weights = self._options.queues
        if self._options.strict or len(weights) == 1:
            return sorted(weights, key=lambda name: -weights[name])
        # Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006): sorted by u^(1/w).
        return sorted(weights, key=lambda name: -(random.random() ** (1 / weights[name])))  # noqa: S311
