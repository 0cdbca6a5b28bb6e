"""A queue on a real Redis under a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from queues.engine import (
    DEFAULT_OPTIONS,
    Delivery,
    Dependency,
    Engine,
    JobState,
    Operation,
    Plan,
    QueueKeys,
    ack_attempt,
    consume,
    fail,
    publish,
    size,
    stats,
)

from .state import Content, QueueContent, check, dump

T = TypeVar("T")

START_MS = 1_700_000_000_000
TTR_MS = 60_000
STATES = (*(state.value for state in JobState), "ready by priority")
"""Every place a job can be in; the ready line has two."""


class World:
    """One queue and the clock. Every look at the whole state checks all invariants."""

    def __init__(self, engine: Engine, queue: QueueKeys) -> None:
        self.engine = engine
        self.queue = queue
        self.now_ms = START_MS

    @property
    def client(self) -> Any:
        return self.engine.client

    def run(self, work: Operation[T] | Plan[T]) -> T:
        return self.engine.run(work)

    def advance(self, ms: int) -> None:
        self.now_ms += ms

    def publish(self, *bodies: bytes, **options: Any) -> tuple[str, ...]:
        """Ids of new jobs."""
        chosen = replace(DEFAULT_OPTIONS, **options)
        return self.run(publish(self.queue, bodies or (b"x",), chosen, now_ms=self.now_ms)).job_ids

    def publish_one(self, body: bytes = b"x", **options: Any) -> str:
        (job_id,) = self.publish(body, **options)
        return job_id

    def take(self, count: int = 1, *, ttr_ms: int = TTR_MS, **options: Any) -> tuple[Delivery, ...]:
        return self.run(consume(self.queue, ttr_ms=ttr_ms, count=count, now_ms=self.now_ms, **options)).jobs

    def take_one(self, **options: Any) -> Delivery:
        (delivery,) = self.take(**options)
        return delivery

    def take_one_after(self, ms: int) -> Delivery:
        self.advance(ms)
        return self.take_one()

    def content(self) -> Content:
        return check(self.client)

    def state(self) -> QueueContent:
        """What the queue holds; invariants and the engine's own counts are checked on the way."""
        content = self.content().queue(self.queue.name.decode())
        counts = self.run(stats(self.queue, now_ms=self.now_ms)).counts
        sizes = dict.fromkeys(JobState, 0)
        for job_id in content.jobs:
            sizes[JobState(content.places_of(job_id)[0])] += 1
        assert counts == sizes
        assert self.run(size(self.queue)) == sizes[JobState.READY]
        return content

    def places(self) -> dict[str, str]:
        """Job id → where it is, for all jobs of the queue."""
        content = self.state()
        return {job_id: content.places_of(job_id)[0] for job_id in content.jobs}

    def dump(self) -> dict[bytes, object]:
        return dump(self.client)

    def changes(self, work: Callable[[], object]) -> bool:
        """Whether doing something leaves any trace in Redis."""
        before = self.dump()
        work()
        return before != self.dump()

    def job_in(self, place: str, **options: Any) -> str:
        """A new job in one of STATES. The clock stands still; the queue must have nothing else that is ready."""
        if place == "delayed":
            return self.publish_one(delay_ms=30_000, **options)
        if place == "blocked":
            return self.publish_one(depends_on=(Dependency(queue=self.queue.queue, key="never"),), **options)
        if place == "grouped":
            return self.publish_one(group="mails", **options)
        if place == "completed":
            options = {"retention_ms": 3_600_000} | options
        if place == "ready by priority":
            options = {"priority": 5} | options
        tries = {"retry": 2}.get(place, 1)
        job_id = self.publish_one(**({"tries": tries} | options))
        if place in ("ready", "ready by priority"):
            return job_id
        assert self.take_one().job_id == job_id
        if place == "retry":
            self.run(fail(self.queue, job_id, delay_ms=10_000, now_ms=self.now_ms))
        elif place == "dead":
            self.run(fail(self.queue, job_id, dead=True, now_ms=self.now_ms))
        elif place == "completed":
            self.run(ack_attempt(self.queue, job_id, result=b"done", now_ms=self.now_ms))
        return job_id


def plain(place: str) -> str:
    """The state that one of STATES stands for."""
    return "ready" if place == "ready by priority" else place
