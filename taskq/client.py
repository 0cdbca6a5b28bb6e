"""Clients of taskq without tasks: publish and consume jobs, look at them. `Client` blocks, `AsyncClient` does not.

    with Client("redis://localhost:6379/0", namespace="shop") as client:
        (job_id,) = client.publish("orders", b"close order 7", delay=1800, tries=3)
        for job in client.consume("orders", timeout=5):
            client.ack(job)

Both take the places and raise the errors that `App` does. Times are seconds or timedeltas.
"""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self

from queues.engine import (
    AckOutcome,
    Delivery,
    DependencyFailure,
    FailResult,
    JobDetail,
    JobResult,
    JobState,
    KeyMode,
    OpenJob,
    Page,
    Published,
    PublishOptions,
    QueueStats,
    WorkerCommand,
    WorkerCommandKind,
    parse_backoff,
)
from queues.engine.constants import DEFAULT_TTL_S
from queues.engine.stats.heartbeats import WorkerBeat

from .brokers import Broker, Work, open_broker
from .errors import NotConfiguredError
from .options import DependsOn, dependency_of
from .outcomes import Delay, seconds
from .queue_limits import QueueLimits, read_queue_limits

PAGE: Final = 100
FIRST_POLL_S: Final = 0.01
LONGEST_POLL_S: Final = 0.25
NOTE_KEPT_S: Final = 3_600.0
POLL_MAX_S: Final = 20.0
"""How long one request of a blocking consume waits at the server."""


def publish_options(
    *,
    delay: Delay = 0,
    at: datetime | None = None,
    ttl: Delay = DEFAULT_TTL_S,
    tries: int = 1,
    priority: int = 0,
    backoff: str = "none",
    retention: Delay = 0,
    key: str | None = None,
    key_ttl: Delay | None = None,
    key_mode: str = "window",
    key_max_wait: Delay = 0,
    limit_key: str | None = None,
    group: str | None = None,
    attributes: Mapping[str, str] | None = None,
    depends_on: Sequence[DependsOn] = (),
    on_dependency_failure: str = "wait",
    dependencies_open: bool = False,
    queue: str = "",
) -> PublishOptions:
    """Options of a publish, as docs/protocol.md has them. Raises InvalidArgumentError, NotConfiguredError.

    `queue`: in which dependencies are that name none.
    """
    if at is not None and at.tzinfo is None:
        raise NotConfiguredError("at= needs a time with a zone, as datetime.now(UTC) has")
    if key_mode not in {mode.value for mode in KeyMode}:
        raise NotConfiguredError(f"unknown key_mode {key_mode!r}: {', '.join(mode.value for mode in KeyMode)}")
    return PublishOptions(
        delay_ms=_ms(delay),
        at_ms=None if at is None else round(at.timestamp() * 1_000),
        ttl_ms=_ms(ttl),
        tries=tries,
        priority=priority,
        backoff=parse_backoff(backoff),
        retention_ms=_ms(retention),
        key=key,
        key_ttl_ms=None if key_ttl is None else _ms(key_ttl),
        key_mode=KeyMode(key_mode),
        key_max_wait_ms=_ms(key_max_wait),
        limit_key=limit_key,
        group=group,
        attributes=attributes,
        depends_on=tuple([dependency_of(one, queue) for one in depends_on]),
        on_dependency_failure=_on_failure(on_dependency_failure),
        dependencies_open=dependencies_open,
    )


def _on_failure(text: str) -> DependencyFailure:
    try:
        return DependencyFailure(text)
    except ValueError:
        raise NotConfiguredError(f"unknown on_dependency_failure {text!r}: wait, fail, continue") from None


def _ms(delay: Delay) -> int:
    return round(1_000 * seconds(delay))


def _bodies(bodies: Sequence[bytes | str] | bytes | str) -> list[bytes]:
    many = [bodies] if isinstance(bodies, bytes | str) else bodies
    return [body.encode() if isinstance(body, str) else body for body in many]


def _names(queues: str | Sequence[str]) -> list[str]:
    return [queues] if isinstance(queues, str) else list(queues)


class _Verbs:
    """The work of each verb; the clients differ in how they do it."""

    def __init__(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        token: str | None = None,
        consumer: str = "",
        queue_limits: Mapping[str, QueueLimits] | None = None,
    ) -> None:
        self.broker: Broker = open_broker(url, namespace=namespace, token=token)
        self.broker.limit_queues(read_queue_limits(queue_limits))
        self.consumer = consumer or socket.gethostname()[:64]

    def _publish(self, queue: str, bodies: Sequence[bytes | str] | bytes | str, options: dict[str, Any]) -> Work[Any]:
        return self.broker.publish(queue, _bodies(bodies), publish_options(**options, queue=queue))

    def _republish(self, queue: str, job_id: str, body: bytes | str, options: dict[str, Any]) -> Work[Published]:
        (raw,) = _bodies(body)
        return self.broker.republish(queue, job_id, raw, publish_options(**options))

    def _add_dependencies(self, queue: str, job_id: str, depends_on: Sequence[DependsOn]) -> Work[OpenJob]:
        needed = tuple(dict.fromkeys([dependency_of(one, queue) for one in depends_on]))
        return self.broker.add_dependencies(queue, job_id, needed)

    def _ack(self, job: Delivery, result: bytes | None) -> Work[Any]:
        if result is not None:
            return self.broker.ack_result(job.queue, job.job_id, attempt=job.attempt, result=result)
        return self.broker.ack(job.queue, [job.job_id], attempt=job.attempt)

    def _fail(self, job: Delivery, error: str, delay: Delay | None, dead: bool) -> Work[FailResult]:
        delay_ms = None if delay is None else _ms(delay)
        return self.broker.fail(job.queue, job.job_id, attempt=job.attempt, error=error, delay_ms=delay_ms, dead=dead)

    def _release(self, job: Delivery, delay: Delay) -> Work[None]:
        return self.broker.release(job.queue, job.job_id, attempt=job.attempt, delay_ms=_ms(delay))

    def _extend(self, job: Delivery, ttr: Delay) -> Work[int]:
        return self.broker.extend(job.queue, job.job_id, attempt=job.attempt, ttr_ms=_ms(ttr))

    def _command(self, worker: str, kind: str) -> Work[int]:
        return self.broker.command(WorkerCommand(WorkerCommandKind(kind), worker, uuid.uuid4().hex))


class Client(_Verbs):
    """A blocking client. Safe to share between threads. A context manager that closes its connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.broker.close()

    def publish(self, queue: str, bodies: Sequence[bytes | str] | bytes | str, **options: Any) -> tuple[str, ...]:
        """Publish one job or several with the same options (`publish_options`), all or nothing. Their ids.

        The id of a duplicate is that of the job that holds the key. Several bodies have to be JSON over HTTP. Jobs with
        more than a thousand dependencies (`depends_on`) together are published first, and given these in several calls.
        """
        return self.broker.run(self._publish(queue, bodies, options)).job_ids  # type: ignore[no-any-return]

    def republish(self, queue: str, job_id: str, body: bytes | str, **options: Any) -> str:
        """Publish a job in place of another one, which is deleted in the same step. The new job's id."""
        return self.broker.run(self._republish(queue, job_id, body, options)).job_ids[0]

    def add_dependencies(self, queue: str, job_id: str, depends_on: Sequence[DependsOn]) -> OpenJob:
        """Have a job that was published with `dependencies_open=True` wait for these, too, whatever their number.

        Those that it waits for already change nothing. Raises DependenciesClosedError, JobNotFoundError, and
        InvalidArgumentError for a cycle.
        """
        return self.broker.run(self._add_dependencies(queue, job_id, depends_on))

    def close_dependencies(self, queue: str, job_id: str) -> OpenJob:
        """Have such a job take no more dependencies: it is ready once those that it has are done."""
        return self.broker.run(self.broker.close_dependencies(queue, job_id))

    def consume(
        self, queues: str | Sequence[str], *, count: int = 1, ttr: Delay = 120, timeout: Delay = 0
    ) -> tuple[Delivery, ...]:
        """Up to `count` jobs of the first of the queues that has some, each held for `ttr`; waits up to `timeout`."""
        ends = time.monotonic() + seconds(timeout)
        poll_s = FIRST_POLL_S
        while True:
            left = max(0.0, ends - time.monotonic())
            work = self.broker.take(
                _names(queues),
                count=count,
                ttr_ms=_ms(ttr),
                timeout_s=min(left, POLL_MAX_S),
                consumer=self.consumer,
            )
            began = time.monotonic()
            jobs = self.broker.run(work)
            left = ends - time.monotonic()
            if jobs or left <= 0:
                return jobs
            if time.monotonic() - began < poll_s:  # it did not wait there
                time.sleep(min(poll_s, left))
                poll_s = min(2 * poll_s, LONGEST_POLL_S)

    def ack(self, job: Delivery, *, result: bytes | None = None) -> bool:
        """End a job. `result` is kept if the job has a retention. False: another attempt holds it by now."""
        outcome = self.broker.run(self._ack(job, result))
        return not isinstance(outcome, tuple) or outcome == (AckOutcome.ACKED,)

    def fail(self, job: Delivery, error: str = "", *, delay: Delay | None = None, dead: bool = False) -> FailResult:
        """End an attempt without success: retry after `delay` (None: the job's backoff), or dead."""
        return self.broker.run(self._fail(job, error, delay, dead))

    def release(self, job: Delivery, *, delay: Delay = 0) -> None:
        """Give a job back without burning a try."""
        self.broker.run(self._release(job, delay))

    def extend(self, job: Delivery, ttr: Delay) -> int:
        """Hold a job for `ttr` from now on; the end, ms since the epoch."""
        return self.broker.run(self._extend(job, ttr))

    def result(self, queue: str, job_id: str) -> JobResult:
        return self.broker.run(self.broker.result(queue, job_id))

    def job(self, queue: str, job_id: str) -> JobDetail | None:
        return self.broker.run(self.broker.detail(queue, job_id))

    def cancel(self, queue: str, job_id: str) -> JobState | None:
        """Delete a job that waits, have its worker end one that runs. The state in which it was found."""
        return self.broker.run(self.broker.cancel(queue, job_id))

    def queues(self) -> Iterator[str]:
        """The queues that hold anything, by name."""
        after: str | None = None
        while True:
            page = self.broker.run(self.broker.queues(after=after, limit=PAGE))
            yield from page.names
            after = page.after
            if after is None:
                return

    def stats(self, queue: str) -> QueueStats:
        return self.broker.run(self.broker.stats(queue))

    def jobs(self, queue: str, state: JobState | str, *, after: str | None = None, limit: int = PAGE) -> Page:
        """A page of the jobs in a state; `after` of one goes into the next."""
        return self.broker.run(self.broker.jobs(queue, JobState(state), after=after, limit=limit))

    def find(self, queue: str, key: str) -> str | None:
        """The id of the job that was published with this key last."""
        return self.broker.run(self.broker.find_key(queue, key))

    def peek(self, queue: str) -> Delivery | None:
        """The job that the next consume would get. It is not delivered: it cannot be acked."""
        return self.broker.run(self.broker.peek(queue))

    def note(self, queue: str, job_id: str) -> dict[str, bytes]:
        """What its worker said of a job: `percent`, `note`, `log`, and whatever `annotate` was given."""
        return self.broker.run(self.broker.note(queue, job_id))

    def annotate(
        self, queue: str, job_id: str, *, lines: Sequence[str] = (), keep: Delay = NOTE_KEPT_S, **fields: str
    ) -> None:
        """Show fields (`percent`, `note`) and lines of its log on a job's page, for `keep` seconds."""
        self.broker.run(self.broker.annotate(queue, job_id, fields, lines=lines, keep_ms=_ms(keep)))

    def empty(self, queue: str, *, everything: bool = False) -> None:
        """Delete the ready jobs of a queue, or those of every state."""
        self.broker.run(self.broker.empty(queue, everything=everything))

    def delete(self, queue: str, job_ids: Sequence[str]) -> int:
        return self.broker.run(self.broker.delete(queue, job_ids))

    def respawn(self, queue: str, job_ids: Sequence[str]) -> int:
        """Dead letters → ready, with one more try each. How many there were."""
        return self.broker.run(self.broker.respawn(queue, job_ids))

    def run_now(self, queue: str, job_ids: Sequence[str]) -> int:
        """Delayed jobs, and those that wait for their next try → ready. How many there were."""
        return self.broker.run(self.broker.run_now(queue, job_ids))

    def pause(self, queue: str) -> None:
        self.broker.run(self.broker.pause(queue))

    def resume(self, queue: str) -> None:
        self.broker.run(self.broker.resume(queue))

    def workers(self) -> tuple[WorkerBeat, ...]:
        return self.broker.run(self.broker.workers())

    def command(self, worker: str, kind: str) -> None:
        """`quiet`, `resume` or `stop` a worker."""
        self.broker.run(self._command(worker, kind))


class AsyncClient(_Verbs):
    """The same for asyncio. An async context manager that closes the connections of its event loop."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.broker.aclose()

    async def publish(self, queue: str, bodies: Sequence[bytes | str] | bytes | str, **options: Any) -> tuple[str, ...]:
        """See `Client.publish`."""
        published = await self.broker.arun(self._publish(queue, bodies, options))
        return published.job_ids  # type: ignore[no-any-return]

    async def republish(self, queue: str, job_id: str, body: bytes | str, **options: Any) -> str:
        """See `Client.republish`."""
        published = await self.broker.arun(self._republish(queue, job_id, body, options))
        return published.job_ids[0]

    async def add_dependencies(self, queue: str, job_id: str, depends_on: Sequence[DependsOn]) -> OpenJob:
        """See `Client.add_dependencies`."""
        return await self.broker.arun(self._add_dependencies(queue, job_id, depends_on))

    async def close_dependencies(self, queue: str, job_id: str) -> OpenJob:
        """See `Client.close_dependencies`."""
        return await self.broker.arun(self.broker.close_dependencies(queue, job_id))

    async def consume(
        self,
        queues: str | Sequence[str],
        *,
        count: int = 1,
        ttr: Delay = 120,
        timeout: Delay = 0,  # noqa: ASYNC109 - it is the server that waits
    ) -> tuple[Delivery, ...]:
        """See `Client.consume`. A caller that is cancelled takes no job with it."""
        return await self.broker.consume(
            _names(queues), count=count, ttr_ms=_ms(ttr), timeout_s=seconds(timeout), consumer=self.consumer
        )

    async def ack(self, job: Delivery, *, result: bytes | None = None) -> bool:
        """See `Client.ack`."""
        outcome = await self.broker.arun(self._ack(job, result))
        return not isinstance(outcome, tuple) or outcome == (AckOutcome.ACKED,)

    async def fail(
        self, job: Delivery, error: str = "", *, delay: Delay | None = None, dead: bool = False
    ) -> FailResult:
        """See `Client.fail`."""
        return await self.broker.arun(self._fail(job, error, delay, dead))

    async def release(self, job: Delivery, *, delay: Delay = 0) -> None:
        """See `Client.release`."""
        await self.broker.arun(self._release(job, delay))

    async def extend(self, job: Delivery, ttr: Delay) -> int:
        """See `Client.extend`."""
        return await self.broker.arun(self._extend(job, ttr))

    async def result(self, queue: str, job_id: str, *, timeout: Delay = 0) -> JobResult:  # noqa: ASYNC109 - it is the server that waits
        """The result of a job, waiting up to `timeout` for its end."""
        return await self.broker.wait_result(queue, job_id, timeout_s=seconds(timeout))

    async def job(self, queue: str, job_id: str) -> JobDetail | None:
        return await self.broker.arun(self.broker.detail(queue, job_id))

    async def cancel(self, queue: str, job_id: str) -> JobState | None:
        """See `Client.cancel`."""
        return await self.broker.arun(self.broker.cancel(queue, job_id))

    async def queues(self, *, after: str | None = None) -> tuple[str, ...]:
        """A page of the names of queues; the last of one, as `after`, leads to the next."""
        return (await self.broker.arun(self.broker.queues(after=after, limit=PAGE))).names

    async def stats(self, queue: str) -> QueueStats:
        return await self.broker.arun(self.broker.stats(queue))

    async def jobs(self, queue: str, state: JobState | str, *, after: str | None = None, limit: int = PAGE) -> Page:
        """See `Client.jobs`."""
        return await self.broker.arun(self.broker.jobs(queue, JobState(state), after=after, limit=limit))

    async def find(self, queue: str, key: str) -> str | None:
        """See `Client.find`."""
        return await self.broker.arun(self.broker.find_key(queue, key))

    async def peek(self, queue: str) -> Delivery | None:
        """See `Client.peek`."""
        return await self.broker.arun(self.broker.peek(queue))

    async def note(self, queue: str, job_id: str) -> dict[str, bytes]:
        """See `Client.note`."""
        return await self.broker.arun(self.broker.note(queue, job_id))

    async def annotate(
        self, queue: str, job_id: str, *, lines: Sequence[str] = (), keep: Delay = NOTE_KEPT_S, **fields: str
    ) -> None:
        """See `Client.annotate`."""
        await self.broker.arun(self.broker.annotate(queue, job_id, fields, lines=lines, keep_ms=_ms(keep)))

    async def empty(self, queue: str, *, everything: bool = False) -> None:
        """See `Client.empty`."""
        await self.broker.arun(self.broker.empty(queue, everything=everything))

    async def delete(self, queue: str, job_ids: Sequence[str]) -> int:
        return await self.broker.arun(self.broker.delete(queue, job_ids))

    async def respawn(self, queue: str, job_ids: Sequence[str]) -> int:
        """See `Client.respawn`."""
        return await self.broker.arun(self.broker.respawn(queue, job_ids))

    async def run_now(self, queue: str, job_ids: Sequence[str]) -> int:
        """See `Client.run_now`."""
        return await self.broker.arun(self.broker.run_now(queue, job_ids))

    async def pause(self, queue: str) -> None:
        await self.broker.arun(self.broker.pause(queue))

    async def resume(self, queue: str) -> None:
        await self.broker.arun(self.broker.resume(queue))

    async def workers(self) -> tuple[WorkerBeat, ...]:
        return await self.broker.arun(self.broker.workers())

    async def command(self, worker: str, kind: str) -> None:
        """See `Client.command`."""
        await self.broker.arun(self._command(worker, kind))
