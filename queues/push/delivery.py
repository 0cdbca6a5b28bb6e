"""Delivers the jobs of one queue to its endpoint: consumes as many as there is room for, posts each, ends each.

A job is acked only after a 2xx, and fenced by its attempt, so whatever happens to this process costs no more than the
lease: then the job is handed out again. Leases are short, and extended while a receiver takes its time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, Final

from queues.engine import (
    AsyncEngine,
    Delivery,
    RequestLimit,
    ack_attempt,
    extend,
    fail,
    give_back_token_limit,
    release,
    take_token_limit,
)
from queues.engine.constants import MEBIBYTE
from queues.engine.errors import JobNotFoundError, LeaseLostError, LimitReachedError, StoreUnavailableError, TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation
from queues.engine.transport.failures import raise_if_cancelled
from queues.engine.values import AckOutcome, Consumed, JobState
from queues.http_client import HttpClientError, HttpFailure, Response
from queues.http_client.headers import write_headers
from queues.services.policies import EffectivePolicy
from queues.services.push.endpoint_plans import PushJob
from queues.services.push.records import REQUEST_BODY_BYTES

from .recorder import DELIVERED, FAILED, GONE, LATE, Happened, Recorder
from .request_headers import Headers, job_headers
from .runner_context import RunnerContext, rate_limit_of
from .verdicts import Judgement, Verdict, fallback_delay_ms, judge, judge_failure

logger = logging.getLogger(__name__)

LEASE_S: Final = 30
LEASE_MIN_S: Final = 5
"""Length of a lease where no policy says one; and the least, since leases are extended twice a second."""

WAIT_S: Final = 30.0
TOGETHER_MAX: Final = 64
"""How long a consume waits, and how many jobs one may bring."""

HELD_MAX_BYTES: Final = 16 * MEBIBYTE
"""Bodies of one endpoint in memory, after which it gets its next job when one of these is over."""

PAUSE_S: Final = 1.0
"""After Redis or the database did not answer."""

SETTLE_PAUSE_S: Final = 0.5

CANCEL_AGAIN_S: Final = 1.0
"""What consumes ends at once, but for a cancellation that got lost on the way."""


@dataclass(slots=True)
class InFlight:
    """A job that is being delivered. `lease_until`: monotonic; `is_lost`: another may hold it."""

    engine: AsyncEngine
    queue: QueueKeys
    job: Delivery
    lease_until: float
    is_lost: bool = False


class EndpointRunner:
    """Of one endpoint, which may change while it runs."""

    def __init__(self, endpoint: PushJob, recorder: Recorder, context: RunnerContext) -> None:
        self.endpoint = endpoint
        self.recorder = recorder
        self.is_gone = False
        self._context = context
        self._client = context.client(endpoint)
        self._in_flight: dict[str, InFlight] = {}
        self._deliveries: set[asyncio.Task[None]] = set()
        self._held = 0
        self._has_room = asyncio.Event()
        self._hold_until = 0.0
        self._consuming: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        """Those that were told to consume no more."""
        self._is_in_trouble = False
        self._policy = EffectivePolicy()

    @property
    def in_flight(self) -> int:
        """Jobs that are being delivered."""
        return len(self._deliveries)

    def start(self) -> None:
        """Begin to consume."""
        self._consuming = asyncio.create_task(self._consume_for_ever(), name=f"push {self.endpoint.name}")

    def update(self, endpoint: PushJob) -> None:
        """Deliver so from now on. What is under way ends as it began."""
        before, self.endpoint = self.endpoint, endpoint
        if before.url != endpoint.url:
            self.is_gone = False
        if before.url != endpoint.url or before.concurrency != endpoint.concurrency:
            self._client.close()
            self._client = self._context.client(endpoint)
        self._hold_until = 0.0
        self.stop()
        self.start()

    def stop(self) -> None:
        """Consume no more. Deliveries go on."""
        if self._consuming is not None:
            self._consuming.cancel()
            self._ending.add(self._consuming)
            self._consuming.add_done_callback(self._ending.discard)
            self._consuming = None

    async def drain(self, timeout_s: float) -> None:
        """Wait for the deliveries under way; after `timeout_s` give their jobs back, without burning a try."""
        while self._ending:
            await asyncio.wait(self._ending, timeout=CANCEL_AGAIN_S)
            for task in self._ending:
                task.cancel()
        if self._deliveries:
            await asyncio.wait(self._deliveries, timeout=timeout_s)
        while self._deliveries:
            for task in self._deliveries:
                task.cancel()
            await asyncio.wait(self._deliveries)
        self._client.close()

    async def extend_leases(self) -> None:
        """Extend those leases of which more than half is over. To be called twice a second."""
        now = monotonic()
        length_s = self._lease_s()
        due = [one for one in self._in_flight.values() if not one.is_lost and one.lease_until - now < length_s / 2]
        await asyncio.gather(*[self._extend(one, length_s) for one in due])

    async def _extend(self, one: InFlight, length_s: int) -> None:
        began = monotonic()
        try:
            await one.engine.run(extend(one.queue, one.job.job_id, attempt=one.job.attempt, ttr_ms=length_s * 1000))
            one.lease_until = began + length_s
        except (LeaseLostError, JobNotFoundError):
            one.is_lost = True
        except TaskqError:
            return  # the next call tries again, as long as there is a lease

    # Consuming

    async def _consume_for_ever(self) -> None:
        while True:
            raise_if_cancelled()
            try:
                count = await self._wait_for_room()
                await self._take(count)
                self._note_trouble(None)
            except LimitReachedError as reached:
                await asyncio.sleep(reached.retry_after_ms / 1000)
            except TaskqError as error:
                self._note_trouble(error)
                await asyncio.sleep(PAUSE_S)
            except Exception:
                logger.exception("push failed", extra={"action": "push.consume", "queue": self.endpoint.name})
                await asyncio.sleep(PAUSE_S)

    async def _wait_for_room(self) -> int:
        """How many jobs may be taken now; at least one."""
        while True:
            pause = self._hold_until - monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            room = self._room()
            if room > 0:
                return room
            self._has_room.clear()
            if self._context.bodies.held < self._context.bodies.most:
                await self._has_room.wait()
            else:  # others hold the memory, whose deliveries nobody tells of here
                await asyncio.sleep(0.05)

    def _room(self) -> int:
        taken = len(self._deliveries)
        if not taken:
            return 1 if self._is_memory_used_up() else min(self.endpoint.concurrency, TOGETHER_MAX)
        if self._held >= HELD_MAX_BYTES or self._is_memory_used_up():
            return 0
        return min(self.endpoint.concurrency - taken, TOGETHER_MAX)

    def _is_memory_used_up(self) -> bool:
        return self._context.bodies.held >= self._context.bodies.most

    async def _take(self, count: int) -> None:
        endpoint = self.endpoint
        engine = await self._context.engine(endpoint.pool)
        self._policy = await self._context.policy(endpoint)
        raise_if_cancelled()  # what is consumed now, nobody would deliver
        queue = engine.queue(endpoint.namespace, endpoint.queue)
        limit = rate_limit_of(endpoint)
        if limit is None:
            consumed = await self._wait_consume(engine, queue, count)
        elif engine.counts_in_call:
            consumed = await self._wait_consume(engine, queue, 1, limit=limit)
        else:
            consumed = await self._consume_counted(engine, queue, limit)
        for job in consumed.jobs:
            self._start_delivery(engine, queue, job)

    async def _consume_counted(self, engine: AsyncEngine, queue: QueueKeys, limit: RequestLimit) -> Consumed:
        """In a Redis Cluster: count a request, consume for as long as its interval, uncount it if nothing came."""
        taken = await engine.run(take_token_limit(limit))
        if not taken.allowed:
            raise LimitReachedError(limit.kind, taken.retry_after_ms)
        consumed = await self._wait_consume(engine, queue, 1, timeout_s=limit.interval_ms / 1000)
        if not consumed.jobs:
            await engine.run(give_back_token_limit(taken))
        return consumed

    def _wait_consume(
        self,
        engine: AsyncEngine,
        queue: QueueKeys,
        count: int,
        *,
        limit: RequestLimit | None = None,
        timeout_s: float = WAIT_S,
    ) -> Awaitable[Consumed]:
        """Cancelled, it takes no job with it. The bound in flight holds for all pushers together."""
        bound = self.endpoint.concurrency
        if self._policy.max_in_flight:
            bound = min(bound, self._policy.max_in_flight)
        return engine.wait_consume(
            (queue,),
            ttr_ms=self._lease_s() * 1000,
            timeout_s=min(timeout_s, WAIT_S),
            count=count,
            consumer=self._context.consumer,
            max_in_flight=bound,
            limit=limit,
            queue_limits=[self._policy.queue_limits],
        )

    def _lease_s(self) -> int:
        return max(LEASE_MIN_S, self._policy.ttr_s or LEASE_S)

    def _note_trouble(self, error: TaskqError | None) -> None:
        """One line in the log when it begins and one when it ends."""
        fields = {"action": "push.outage", "pool": self.endpoint.pool, "queue": self.endpoint.name}
        if error is not None and not self._is_in_trouble:
            logger.warning("nothing can be consumed", extra={**fields, "error": error.code, "reason": str(error)[:200]})
        elif error is None and self._is_in_trouble:
            logger.info("consuming again", extra=fields)
        self._is_in_trouble = error is not None

    # Delivering

    def _start_delivery(self, engine: AsyncEngine, queue: QueueKeys, job: Delivery) -> None:
        one = InFlight(engine, queue, job, monotonic() + self._lease_s())
        size = len(job.body)
        self._held += size
        self._context.bodies.held += size
        self._in_flight[job.job_id] = one
        task = asyncio.create_task(self._deliver(one))
        self._deliveries.add(task)

        def finished(done: asyncio.Task[None]) -> None:
            self._held -= size
            self._context.bodies.held -= size
            if self._in_flight.get(job.job_id) is one:
                del self._in_flight[job.job_id]
            self._deliveries.discard(done)
            self._has_room.set()
            if not done.cancelled() and (error := done.exception()) is not None:
                extra = {"action": "push.deliver", "queue": self.endpoint.name, "job_id": job.job_id}
                logger.error("delivery failed unexpectedly", exc_info=error, extra=extra)

        task.add_done_callback(finished)

    async def _deliver(self, one: InFlight) -> None:
        endpoint, job = self.endpoint, one.job
        headers: Headers = ()
        began = perf_counter()
        response: Response | None = None
        try:
            headers = job_headers(job, keys=endpoint.keys, own=endpoint.headers)
            response = await self._client.post(write_headers(headers), job.body, timeout_s=endpoint.timeout_s)
            judgement = judge(response)
        except HttpClientError as error:
            if error.failure is HttpFailure.RESOURCES:
                self._note_shortage(error)
                await self._give_back(one)
                return
            judgement = judge_failure(error, timeout_s=endpoint.timeout_s)
        except asyncio.CancelledError:  # by `drain`: nobody knows what the receiver did
            await self._give_back(one)
            raise
        except Exception as error:  # a defect; given back, the job would meet it again at once
            fields = {"action": "push.deliver", "queue": endpoint.name, "job_id": job.job_id}
            logger.exception("delivery failed unexpectedly", extra=fields)
            judgement = Judgement(verdict=Verdict.FAILED, error=f"taskq failed: {type(error).__name__}")
        duration_ms = (perf_counter() - began) * 1000
        outcome, then = await self._end(one, judgement)
        self.recorder.note(
            Happened(
                at_ms=job.now_ms,
                job_id=job.job_id,
                attempt=job.attempt,
                outcome=outcome,
                error=judgement.error,
                duration_ms=duration_ms,
                next=then,
                headers=headers,
                body=job.body[:REQUEST_BODY_BYTES],
                body_bytes=len(job.body),
                response=response,
            )
        )

    async def _end(self, one: InFlight, judgement: Judgement) -> tuple[str, str]:
        """End the job. The outcome of the delivery, and what became of the job."""
        if judgement.verdict is Verdict.DELIVERED:
            return await self._ack(one)
        if judgement.verdict is Verdict.GONE:
            if not self.is_gone:
                self.is_gone = True
                self.stop()
                self._context.on_gone(self.endpoint, judgement.error)
            await self._settle(one, release(one.queue, one.job.job_id, attempt=one.job.attempt))
            return GONE, JobState.READY
        if judgement.hold_off_s:
            self._hold_until = max(self._hold_until, monotonic() + judgement.hold_off_s)
        failed = await self._settle(
            one,
            fail(
                one.queue,
                one.job.job_id,
                attempt=one.job.attempt,
                error=judgement.error,
                delay_ms=judgement.delay_ms,
                fallback_delay_ms=fallback_delay_ms(one.job.used),
            ),
        )
        return FAILED, "" if failed is None else failed.state

    async def _ack(self, one: InFlight) -> tuple[str, str]:
        """Also when the answer was late: the attempt tells whether the job is still this delivery's."""
        ended = await self._settle(one, ack_attempt(one.queue, one.job.job_id, attempt=one.job.attempt))
        is_ours = ended is not None and ended.outcome is AckOutcome.ACKED
        return (DELIVERED, "acked") if is_ours else (LATE, "")

    async def _settle(self, one: InFlight, operation: Operation[Any]) -> Any:
        """Run it, again while Redis is away and the lease holds. None: the job is no longer this delivery's."""
        engine = one.engine
        while True:
            try:
                return await engine.run(operation)
            except (LeaseLostError, JobNotFoundError):
                return None
            except StoreUnavailableError:
                if monotonic() > one.lease_until:
                    return None
                await asyncio.sleep(SETTLE_PAUSE_S)
                if not engine.is_usable():  # the pool has another address now
                    engine = await self._context.engine(self.endpoint.pool)

    def _note_shortage(self, error: HttpClientError) -> None:
        """This host cannot connect anywhere: that is no failure of the job."""
        if self._hold_until < monotonic():
            fields = {"action": "push.shortage", "queue": self.endpoint.name, "reason": str(error)[:200]}
            logger.error("nothing can be delivered from here", extra=fields)
        self._hold_until = max(self._hold_until, monotonic() + PAUSE_S)

    async def _give_back(self, one: InFlight) -> None:
        try:
            await one.engine.run(release(one.queue, one.job.job_id, attempt=one.job.attempt))
        except TaskqError:
            return  # its lease ends instead
        self.recorder.note_returned()
