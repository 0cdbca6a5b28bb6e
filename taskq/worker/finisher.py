"""Tells taskq how attempts ended: many in one call, and again and again if Redis is away, until their leases have
ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from queues.engine import (
    AckOutcome,
    Delivery,
    JobNotFoundError,
    LeaseLostError,
    LimitReachedError,
    StoreFullError,
    StoreUnavailableError,
    TaskqError,
)

from ..brokers import Broker, Work
from .attempt import Done, Ended, Failed, Released

logger = logging.getLogger("taskq.worker")

ACKS_TOGETHER: Final = 500
FIRST_RETRY_S: Final = 0.05
LONGEST_RETRY_S: Final = 1.0
AFTER_LEASE_S: Final = 30.0
"""How long after a lease's end the end of the attempt is still sent: perhaps no other consumer has the job yet."""

PASSING: Final = (StoreUnavailableError, StoreFullError, LimitReachedError)
"""Errors after which the same call may succeed later."""


@dataclass(slots=True)
class Ending:
    """How an attempt ended. `lease_ends`: by `time.monotonic()`; after it, telling would be in vain.

    `work` None: an acknowledgement without a result, of which many go together.
    """

    queue: str
    job_id: str
    attempt: int
    lease_ends: float
    work: Callable[[Broker], Work[Any]] | None = None
    is_alone: bool = False
    """Whether it is sent alone: it was refused together with others, or is tried a second time."""


def ending_of(delivery: Delivery, lease_ends: float, ended: Ended) -> Ending:
    """The request that reports the end of an attempt. `lease_ends`: by `time.monotonic()`."""
    queue, job_id, attempt = delivery.queue, delivery.job_id, delivery.attempt
    ending = Ending(queue, job_id, attempt, lease_ends + AFTER_LEASE_S)
    if isinstance(ended, Done):
        if ended.result is not None:
            result = ended.result
            ending.work = lambda broker: broker.ack_result(queue, job_id, attempt=attempt, result=result)
    elif isinstance(ended, Failed):
        delay_ms = None if ended.delay_s is None else max(0, round(ended.delay_s * 1_000))
        error, is_dead = ended.error, ended.is_dead
        ending.work = lambda broker: broker.fail(
            queue, job_id, attempt=attempt, error=error, delay_ms=delay_ms, dead=is_dead
        )
    elif isinstance(ended, Released):
        delay_ms = max(0, round(ended.delay_s * 1_000))
        ending.work = lambda broker: broker.release(queue, job_id, attempt=attempt, delay_ms=delay_ms)
    return ending


class Finisher:
    """Sends endings, all of one event-loop turn together. `on_lost` gets each whose lease another attempt has."""

    def __init__(self, broker: Broker, on_lost: Callable[[Ending, str], None]) -> None:
        self._broker = broker
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._pending: list[Ending] = []
        self._is_scheduled = False
        self._sending: set[asyncio.Task[None]] = set()
        self.unsent = 0
        """Endings that Redis has not confirmed yet."""

    def finish(self, ending: Ending) -> None:
        """Send it soon."""
        self._pending.append(ending)
        self.unsent += 1
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._flush)

    async def drain(self) -> None:
        """Wait until all endings are confirmed, or given up."""
        while self._pending or self._sending:
            if self._sending:
                await asyncio.wait(self._sending)
            else:
                await asyncio.sleep(0)

    def _flush(self) -> None:
        self._is_scheduled = False
        pending, self._pending = self._pending, []
        sending = self._loop.create_task(self._send(pending))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _send(self, endings: list[Ending]) -> None:
        delay_s, is_away = FIRST_RETRY_S, False
        while endings:
            again, error = await self._try(endings)
            if not again:
                break
            if not is_away:
                is_away = True
                fields = {"action": "worker.finish", "jobs": len(again), "error": str(error)[:200]}
                logger.warning("ended jobs are not confirmed yet, they are tried again", extra=fields)
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, LONGEST_RETRY_S)
            endings = self._still_held(again)
        if is_away:
            logger.info("ended jobs are confirmed", extra={"action": "worker.finish"})

    def _still_held(self, endings: list[Ending]) -> list[Ending]:
        now = time.monotonic()
        held = [ending for ending in endings if ending.lease_ends > now]
        for ending in endings:
            if ending.lease_ends <= now:
                self.unsent -= 1
                self._on_lost(ending, "Redis could not be told before the lease ended")
        return held

    async def _try(self, endings: list[Ending]) -> tuple[list[Ending], Exception | None]:
        """Send endings. Returns those to be sent again, and the error that says why."""
        groups, works = self._works(endings)
        again: list[Ending] = []
        why: Exception | None = None
        try:
            outcomes = await self._broker.arun_all(works)
        except Exception as error:  # a token that is refused, or a defect; until the leases have ended it may pass
            return endings, error
        for group, outcome in zip(groups, outcomes, strict=True):
            if isinstance(outcome, PASSING):
                again += group
                why = outcome
                continue
            if isinstance(outcome, TaskqError) and group[0].work is None and not _is_lost(outcome):
                for ending in group:  # the fault of one of them, perhaps, or of what stands between
                    ending.is_alone = True
                again += group
                why = outcome
                continue
            self.unsent -= len(group)
            if isinstance(outcome, TaskqError):
                self._settle_error(group[0], outcome)
            elif group[0].work is None:
                for ending, one in zip(group, outcome, strict=True):
                    if one is AckOutcome.LOST:
                        self._on_lost(ending, "its lease had ended")
        return again, why

    def _works(self, endings: list[Ending]) -> tuple[list[list[Ending]], list[Work[Any]]]:
        groups: list[list[Ending]] = []
        works: list[Work[Any]] = []
        for group in _together(endings):
            try:
                works.append(self._work(group))
            except Exception as error:  # one that cannot be sent must not keep back the others
                self.unsent -= len(group)
                self._bury(group[0], f"its end cannot be told: {error!r}")
                continue
            groups.append(group)
        return groups, works

    def _work(self, group: list[Ending]) -> Work[Any]:
        first = group[0]
        if first.work is not None:
            return first.work(self._broker)
        return self._broker.ack(first.queue, [ending.job_id for ending in group], attempt=first.attempt)

    def _settle_error(self, ending: Ending, error: TaskqError) -> None:
        if isinstance(error, LeaseLostError | JobNotFoundError):
            self._on_lost(ending, "its lease had ended, or it was deleted")
            return
        self._bury(ending, str(error))

    def _bury(self, ending: Ending, text: str) -> None:
        logger.error("job could not be ended", extra={"action": "worker.finish", "job": ending.job_id, "error": text})
        if ending.is_alone:
            return  # this was tried before

        def bury(broker: Broker) -> Work[Any]:
            return broker.fail(
                ending.queue, ending.job_id, attempt=ending.attempt, error=text, delay_ms=None, dead=True
            )

        self.finish(Ending(ending.queue, ending.job_id, ending.attempt, ending.lease_ends, bury, is_alone=True))


def _is_lost(error: TaskqError) -> bool:
    return isinstance(error, LeaseLostError | JobNotFoundError)


def _together(endings: Iterable[Ending]) -> Iterable[list[Ending]]:
    """Plain acknowledgements of one queue and attempt in one call; others one by one."""
    plain: dict[tuple[str, int], list[Ending]] = {}
    for ending in endings:
        if ending.work is not None or ending.is_alone:
            yield [ending]
            continue
        group = plain.setdefault((ending.queue, ending.attempt), [])
        group.append(ending)
        if len(group) >= ACKS_TOGETHER:
            yield plain.pop((ending.queue, ending.attempt))
    yield from plain.values()
