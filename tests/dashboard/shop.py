"""A queue with jobs in every state, behind the pages that tests ask for."""

from __future__ import annotations

from typing import Any, Final

from queues.engine import (
    Dependency,
    Engine,
    JobDetail,
    JobState,
    PublishOptions,
    ack_attempt,
    consume,
    detail,
    fail,
    publish,
    stats,
)
from tests.support.waiting import wait_until

from .people import POOL, SHOP

QUEUE: Final = "orders"
AT: Final = f"/queues/{POOL}/{SHOP}/{QUEUE}/"
"""Its page."""


class Shop:
    """The queue shop/orders on a real Redis, by its own clock."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue = engine.queue(SHOP, QUEUE)

    def publish(self, *bodies: bytes, **options: Any) -> list[str]:
        """Ids of new jobs."""
        return list(self.engine.run(publish(self.queue, bodies or (b"x",), PublishOptions(**options))).job_ids)

    def take(self, *, consumer: str = "", count: int = 1) -> None:
        self.engine.run(consume(self.queue, ttr_ms=60_000, count=count, consumer=consumer))

    def job_in(self, state: JobState, *, body: bytes = b"x", error: str = "boom", **options: Any) -> str:
        """A new job in this state; the queue must have nothing else that is ready."""
        if state is JobState.DELAYED:
            options = {"delay_ms": 600_000} | options
        if state is JobState.BLOCKED:
            options = {"depends_on": (Dependency(queue="mails", key="never"),)} | options
        if state is JobState.GROUPED:
            options = {"group": "mails"} | options
        if state is JobState.COMPLETED:
            options = {"retention_ms": 600_000} | options
        if state is JobState.RETRY:
            options = {"tries": 2} | options
        (job_id,) = self.publish(body, **options)
        if state in (JobState.READY, JobState.DELAYED, JobState.BLOCKED, JobState.GROUPED):
            return job_id
        self.take(consumer="worker-1")
        if state is JobState.RETRY:
            self.engine.run(fail(self.queue, job_id, error=error, delay_ms=600_000))
        elif state is JobState.DEAD:
            self.engine.run(fail(self.queue, job_id, error=error, dead=True))
        elif state is JobState.COMPLETED:
            self.engine.run(ack_attempt(self.queue, job_id, result=b'{"sent": true}'))
        return job_id

    def take_if_any(self) -> bool:
        """Whether there was a job to take."""
        return bool(self.engine.run(consume(self.queue, ttr_ms=60_000)).jobs)

    def take_one(self) -> str:
        """The id of the job that is delivered next."""
        (job,) = self.engine.run(consume(self.queue, ttr_ms=60_000)).jobs
        return job.job_id

    def fail(self, job_id: str, error: str) -> None:
        """End its attempt, and it with it."""
        self.engine.run(fail(self.queue, job_id, error=error, dead=True))

    def wait_a_moment(self) -> None:
        """Until Redis's clock shows another millisecond."""
        start = self.engine.run(stats(self.queue)).now_ms
        wait_until(lambda: self.engine.run(stats(self.queue)).now_ms > start, or_fail="the clock stands still")

    def find(self, job_id: str) -> JobDetail | None:
        return self.engine.run(detail(self.queue, job_id))

    def state_of(self, job_id: str) -> JobState | None:
        found = self.find(job_id)
        return found.state if found else None

    def counts(self) -> dict[str, int]:
        """Jobs by state, without the states that have none."""
        counts = self.engine.run(stats(self.queue)).counts
        return {state.value: count for state, count in counts.items() if count}
