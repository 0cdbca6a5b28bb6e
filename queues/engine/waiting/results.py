"""Waits for the results of jobs: woken by the message of a completion, polling now and then without one."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from .. import constants
from ..keys import QueueKeys
from ..operation import AsyncRunner
from ..operations.groups import batch_of
from ..operations.inspect import result as result_operation
from ..values import JobResult, JobState
from .subscription import Subscription
from .waiter_groups import delay_until

_ENDED: Final = (None, JobState.COMPLETED, JobState.DEAD)


class ResultWaiters:
    """Those of an AsyncEngine, by job."""

    def __init__(self, engine: AsyncRunner) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._of_job: dict[bytes, set[asyncio.Future[None]]] = {}
        self._waiting = 0
        self._stopped = False

    async def wait(self, subscription: Subscription, queue: QueueKeys, job_id: str, *, timeout_s: float) -> JobResult:
        """See AsyncEngine.wait_result."""
        deadline = monotonic() + timeout_s
        if timeout_s > 0:
            await subscription.wait(constants.FALLBACK_POLL_S)
        key = job_id.encode()
        self._waiting += 1
        try:
            while True:
                future = self._loop.create_future()
                self._of_job.setdefault(key, set()).add(future)
                try:
                    found = await self._engine.run(result_operation(queue, job_id))
                    if found.state is None and (batch_id := await self._engine.run(batch_of(queue, job_id))):
                        left_s = max(0.0, deadline - monotonic())
                        return await self.wait(subscription, queue, batch_id, timeout_s=left_s)
                    if found.state in _ENDED or monotonic() >= deadline or self._stopped:
                        return found
                    timer = self._loop.call_later(min(delay_until(deadline), self._every_s), _settle, future)
                    try:
                        await future
                    finally:
                        timer.cancel()
                finally:
                    self._of_job[key].discard(future)
                    if not self._of_job[key]:
                        del self._of_job[key]
        finally:
            self._waiting -= 1

    @property
    def _every_s(self) -> float:
        """Many poll less often than few, as consumers do (`waiter_groups`)."""
        return max(constants.FALLBACK_POLL_S, min(self._waiting / constants.LOOKS_PER_S, constants.LOOK_EVERY_MAX_S))

    def wake(self, job_id: bytes) -> None:
        """The job was completed."""
        for future in self._of_job.get(job_id, ()):
            _settle(future)

    def poll_soon(self) -> None:
        """Poll for every waiter, one after the other: messages may have been lost."""
        waiting = [future for futures in self._of_job.values() for future in futures]
        for number, future in enumerate(waiting):
            self._loop.call_later(number / constants.LOOKS_PER_S, _settle, future)

    def stop(self) -> None:
        """Have every waiter poll once more and return with what there is."""
        self._stopped = True
        for job_id in list(self._of_job):
            self.wake(job_id)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
