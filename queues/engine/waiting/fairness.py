"""Fairness between processes: a message wakes one waiter in each, and the first to reach Redis gets the job.

The faster one would get nearly all. So who got the last job steps back for a moment: if others wait too, it is theirs.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ..keys import notice_channel
from ..transport.connection import AsyncClient

STEP_BACK_S: Final = 0.001
"""Longer than a look takes. Paid only where several processes follow the same pool, and rarely if they do not wait for
the same queues."""

COUNT_EVERY_S: Final = 5.0


class OtherProcesses:
    """Whether other processes follow the pool too. In a cluster only those on the same node are seen."""

    def __init__(self, client: AsyncClient) -> None:
        self._client: Any = client
        self._loop = asyncio.get_running_loop()
        self._counted_at = -COUNT_EVERY_S
        self._counting: asyncio.Task[None] | None = None
        self.present = False

    def count_if_due(self) -> None:
        """Ask again now and then, in the background."""
        now = self._loop.time()
        if now - self._counted_at >= COUNT_EVERY_S and (self._counting is None or self._counting.done()):
            self._counted_at = now
            self._counting = self._loop.create_task(self._count())

    def stop(self) -> None:
        if self._counting is not None:
            self._counting.cancel()

    async def _count(self) -> None:
        try:
            counted = await self._client.pubsub_numsub(notice_channel())
        except Exception:
            return  # whatever the connection raised: as it was
        self.present = any(listeners > 1 for _, listeners in counted)
