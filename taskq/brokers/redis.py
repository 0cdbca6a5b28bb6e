"""Straight to Redis, by the engine."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from queues.engine import (
    AckOutcome,
    AsyncEngine,
    BeatReply,
    Consumed,
    Delivery,
    Dependency,
    Engine,
    FailResult,
    JobDetail,
    JobResult,
    JobState,
    Layout,
    NodeRequest,
    NodeResults,
    NodesAdded,
    OpenJob,
    Operation,
    Page,
    Plan,
    PreparedOptions,
    Published,
    PublishOptions,
    QueueKeys,
    QueuePage,
    QueueStats,
    Rescheduled,
    TaskqError,
    WorkerCommand,
    Workflow,
    ack,
    ack_attempt,
    add_dependencies,
    add_nodes,
    annotate,
    cancel_job,
    cancel_workflow,
    close_dependencies,
    command_workers,
    consume_any,
    create_workflow,
    delete_jobs,
    destroy,
    extend,
    fail,
    find_detail,
    find_key,
    find_result,
    hold_key,
    is_large,
    list_jobs,
    list_queues,
    list_workers,
    open_async_engine,
    open_engine,
    pause,
    peek,
    prepare,
    publish,
    publish_large,
    publish_once,
    read_command,
    read_note,
    read_results,
    read_workflow,
    redact_url,
    refuse_cycle,
    release,
    republish,
    reschedule,
    respawn,
    resume,
    retry_workflow,
    settle_once,
    stats,
    worker_beat,
)
from queues.engine.constants import BULK_MAX_JOBS, NODES_PER_REQUEST
from queues.engine.names import check_namespace, check_queue
from queues.engine.stats.heartbeats import WorkerBeat

from ..queue_limits import QueueLimits
from .base import Broker, Work
from .open_jobs import add_in_pages, needs_pages, publish_in_pages

T = TypeVar("T")

CONSUME_TOGETHER: Final = 128
"""Jobs that one call takes at the most: about a millisecond of Redis."""

PREPARED_KEPT: Final = 256
"""Sets of options that are remembered in their packed form."""


@dataclass(frozen=True, slots=True)
class _EngineWork(Work[T]):
    """`make` gives the operation or plan; it needs the engine for a queue's keys."""

    make: Callable[[Engine | AsyncEngine], Operation[T] | Plan[T]]


@dataclass(frozen=True, slots=True)
class _OpenQueue:
    """Steps of `open_jobs` as plans of the engine."""

    layout: Layout
    queue: QueueKeys
    bodies: Sequence[bytes]

    def publish(self, options: PublishOptions) -> Plan[Published]:
        return publish_large(self.queue, self.bodies, options)

    def add(self, job_id: str, depends_on: Sequence[Dependency]) -> Plan[OpenJob]:
        return add_dependencies(self.layout, self.queue, job_id, depends_on)

    def close(self, job_id: str) -> Plan[OpenJob]:
        return close_dependencies(self.queue, job_id)

    def delete(self, job_ids: Sequence[str]) -> Plan[int]:
        return delete_jobs(self.queue, job_ids)


class RedisBroker(Broker):
    """A pool by its URL, as `queues.engine.open_engine` takes it. Opens nothing before it is used."""

    def __init__(self, url: str, namespace: str) -> None:
        check_namespace(namespace)
        self.namespace = namespace
        self.url = redact_url(url)
        self._url = url
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._pid = 0
        self._engines: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[AsyncEngine]] = WeakKeyDictionary()
        self._prepared: dict[int, tuple[PublishOptions, PreparedOptions]] = {}
        self._commands = itertools.count()
        self._queue_limits: Mapping[str, QueueLimits] = {}

    def engine(self) -> Engine:
        """The engine of this process."""
        engine = self._engine
        if engine is None or self._pid != os.getpid():  # connections must not be shared with a parent process
            with self._lock:
                if self._engine is None or self._pid != os.getpid():
                    self._engine, self._pid = open_engine(self._url), os.getpid()
                engine = self._engine
        return engine

    async def async_engine(self) -> AsyncEngine:
        """The engine of the running event loop."""
        loop = asyncio.get_running_loop()
        opening = self._engines.get(loop)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._engines[loop] = loop.create_task(open_async_engine(self._url))
        return opening.result() if opening.done() else await asyncio.shield(opening)

    def run(self, work: Work[T]) -> T:
        assert isinstance(work, _EngineWork)
        engine = self.engine()
        return engine.run(work.make(engine))  # type: ignore[no-any-return]

    async def arun(self, work: Work[T]) -> T:
        assert isinstance(work, _EngineWork)
        engine = await self.async_engine()
        return await engine.run(work.make(engine))

    async def arun_all(self, works: Sequence[Work[Any]]) -> list[Any]:
        results = await asyncio.gather(*map(self.arun, works), return_exceptions=True)
        for one in results:
            if isinstance(one, BaseException) and not isinstance(one, TaskqError):
                raise one
        return results

    def close(self) -> None:
        with self._lock:
            if self._engine is not None and self._pid == os.getpid():
                self._engine.close()
            self._engine = None

    async def aclose(self) -> None:
        opening = self._engines.pop(asyncio.get_running_loop(), None)
        if opening is not None:
            try:
                engine = await opening
            except TaskqError:
                return
            await engine.close()

    def _queue(self, engine: Engine | AsyncEngine, name: str) -> QueueKeys:
        check_queue(name)
        return engine.queue(self.namespace, name)

    def _prepare(self, options: PublishOptions) -> PreparedOptions:
        """A task's options are one object for as long as the task lives."""
        known = self._prepared.get(id(options))
        if known is not None and known[0] is options:
            return known[1]
        prepared = prepare(options)
        if len(self._prepared) >= PREPARED_KEPT:
            self._prepared.clear()
        self._prepared[id(options)] = (options, prepared)
        return prepared

    def publish(self, queue: str, bodies: Sequence[bytes], options: PublishOptions) -> Work[Published]:
        if needs_pages(len(bodies), options):
            return _EngineWork(lambda engine: publish_in_pages(self._open_queue(engine, queue, bodies), options))
        prepared = self._prepare(options)
        if options.depends_on and options.key is not None:
            return _EngineWork(lambda engine: self._publish_acyclic(engine, queue, bodies, options))
        if is_large(bodies, prepared):  # one call would keep Redis busy for too long
            return _EngineWork(lambda engine: publish_large(self._queue(engine, queue), bodies, prepared))
        return _EngineWork(lambda engine: publish(self._queue(engine, queue), bodies, prepared))

    def _open_queue(self, engine: Engine | AsyncEngine, name: str, bodies: Sequence[bytes] = ()) -> _OpenQueue:
        return _OpenQueue(engine.layout, self._queue(engine, name), bodies)

    def add_dependencies(self, queue: str, job_id: str, depends_on: Sequence[Dependency]) -> Work[OpenJob]:
        return _EngineWork(lambda engine: add_in_pages(self._open_queue(engine, queue), job_id, depends_on))

    def close_dependencies(self, queue: str, job_id: str) -> Work[OpenJob]:
        return _EngineWork(lambda engine: close_dependencies(self._queue(engine, queue), job_id))

    def _publish_acyclic(
        self, engine: Engine | AsyncEngine, name: str, bodies: Sequence[bytes], options: PublishOptions
    ) -> Plan[Published]:
        queue = self._queue(engine, name)
        yield from refuse_cycle(engine.layout, queue, options.key or "", options.depends_on)
        (published,) = yield [publish(queue, bodies, options)]
        return published  # type: ignore[no-any-return]

    def republish(self, queue: str, job_id: str, body: bytes, options: PublishOptions) -> Work[Published]:
        return _EngineWork(lambda engine: republish(self._queue(engine, queue), job_id, body, options))

    once_max = BULK_MAX_JOBS

    def publish_once(
        self, queue: str, bodies: Sequence[bytes], options: PublishOptions, *, once: Sequence[str]
    ) -> Work[Published]:
        prepared = prepare(options)
        return _EngineWork(lambda engine: publish_once(self._queue(engine, queue), bodies, prepared, once=once))

    def settle_once(self, queue: str, once: Sequence[str]) -> Work[int]:
        return _EngineWork(lambda engine: settle_once(self._queue(engine, queue), once))

    def result(self, queue: str, job_id: str) -> Work[JobResult]:
        return _EngineWork(lambda engine: find_result(self._queue(engine, queue), job_id))

    def detail(self, queue: str, job_id: str) -> Work[JobDetail | None]:
        return _EngineWork(lambda engine: find_detail(self._queue(engine, queue), job_id))

    def note(self, queue: str, job_id: str) -> Work[dict[str, bytes]]:
        return _EngineWork(lambda engine: read_note(self._queue(engine, queue), job_id))

    def cancel(self, queue: str, job_id: str) -> Work[JobState | None]:
        return _EngineWork(lambda engine: cancel_job(self._queue(engine, queue), job_id, given=uuid.uuid4().hex))

    def create_workflow(
        self, workflow_id: str, nodes: Sequence[NodeRequest], *, name: str, retention_ms: int
    ) -> Work[NodesAdded]:
        return _EngineWork(
            lambda engine: create_workflow(
                engine.layout, self.namespace, workflow_id, nodes, name=name, retention_ms=retention_ms
            )
        )

    def add_nodes(self, workflow_id: str, nodes: Sequence[NodeRequest]) -> Work[NodesAdded]:
        return _EngineWork(lambda engine: add_nodes(engine.layout, self.namespace, workflow_id, nodes))

    def workflow(self, workflow_id: str, *, after: int) -> Work[Workflow]:
        return _EngineWork(
            lambda engine: read_workflow(
                engine.layout, self.namespace, workflow_id, first=after, limit=NODES_PER_REQUEST
            )
        )

    def cancel_workflow(self, workflow_id: str) -> Work[bool]:
        given = uuid.uuid4().hex
        return _EngineWork(lambda engine: cancel_workflow(engine.layout, self.namespace, workflow_id, given=given))

    def retry_workflow(self, workflow_id: str) -> Work[int]:
        return _EngineWork(lambda engine: retry_workflow(engine.layout, self.namespace, workflow_id))

    def node_results(self, workflow_id: str, node: str, *, after: int) -> Work[NodeResults]:
        return _EngineWork(lambda engine: read_results(engine.layout, self.namespace, workflow_id, node, after=after))

    def find_key(self, queue: str, key: str) -> Work[str | None]:
        return _EngineWork(lambda engine: find_key(self._queue(engine, queue), key))

    async def wait_result(self, queue: str, job_id: str, *, timeout_s: float) -> JobResult:
        engine = await self.async_engine()
        return await engine.wait_result(self._queue(engine, queue), job_id, timeout_s=timeout_s)

    def limit_queues(self, queue_limits: Mapping[str, QueueLimits]) -> None:
        self._queue_limits = dict(queue_limits)

    def _limits_of(self, queues: Sequence[str]) -> dict[str, Any]:
        """Arguments of a consume of these queues."""
        if not self._queue_limits:
            return {}
        found = [self._queue_limits.get(name) for name in queues]
        return {
            "max_in_flight": [0 if one is None else one.max_in_flight for one in found],
            "queue_limits": [one and one.for_consume for one in found],
        }

    def take(
        self, queues: Sequence[str], *, count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> Work[tuple[Delivery, ...]]:
        def make(engine: Engine | AsyncEngine) -> Plan[tuple[Delivery, ...]]:
            keys = [self._queue(engine, name) for name in queues]
            return _jobs_of(consume_any(keys, ttr_ms=ttr_ms, count=count, consumer=consumer, **self._limits_of(queues)))

        return _EngineWork(make)

    async def consume(
        self, queues: Sequence[str], *, count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> tuple[Delivery, ...]:
        engine = await self.async_engine()
        keys = [self._queue(engine, name) for name in queues]
        count = min(count, CONSUME_TOGETHER)
        consumed = await engine.wait_consume(
            keys, ttr_ms=ttr_ms, timeout_s=timeout_s, count=count, consumer=consumer, **self._limits_of(queues)
        )
        return consumed.jobs

    def ack(self, queue: str, job_ids: Sequence[str], *, attempt: int) -> Work[tuple[AckOutcome, ...]]:
        return _EngineWork(lambda engine: ack(self._queue(engine, queue), job_ids, attempt=attempt))

    def ack_result(self, queue: str, job_id: str, *, attempt: int, result: bytes) -> Work[Any]:
        return _EngineWork(
            lambda engine: ack_attempt(self._queue(engine, queue), job_id, attempt=attempt, result=result)
        )

    def fail(
        self, queue: str, job_id: str, *, attempt: int, error: str, delay_ms: int | None, dead: bool
    ) -> Work[FailResult]:
        return _EngineWork(
            lambda engine: fail(
                self._queue(engine, queue), job_id, attempt=attempt, error=error, delay_ms=delay_ms, dead=dead
            )
        )

    def release(self, queue: str, job_id: str, *, attempt: int, delay_ms: int) -> Work[None]:
        return _EngineWork(
            lambda engine: release(self._queue(engine, queue), job_id, attempt=attempt, delay_ms=delay_ms)
        )

    def extend(self, queue: str, job_id: str, *, attempt: int, ttr_ms: int) -> Work[int]:
        return _EngineWork(lambda engine: extend(self._queue(engine, queue), job_id, attempt=attempt, ttr_ms=ttr_ms))

    def annotate(
        self, queue: str, job_id: str, fields: Mapping[str, str | bytes], *, lines: Sequence[str], keep_ms: int
    ) -> Work[None]:
        return _EngineWork(
            lambda engine: annotate(self._queue(engine, queue), job_id, fields, lines=lines, keep_ms=keep_ms)
        )

    def hold_key(self, queue: str, key: str, job_id: str) -> Work[str | None]:
        return _EngineWork(lambda engine: hold_key(self._queue(engine, queue), key, job_id))

    def beat(self, beat: WorkerBeat, *, since_ms: int, ends: bool) -> Work[BeatReply]:
        return _EngineWork(lambda _engine: worker_beat(beat, since_ms=since_ms, ends=ends))

    def follow_commands(self, hear: Callable[[WorkerCommand], None]) -> bool:
        opening = self._engines.get(asyncio.get_running_loop())
        if opening is None or not opening.done():
            return False

        def hear_message(message: bytes) -> None:
            command = read_command(message)
            if command is not None and command.namespace == self.namespace:
                hear(command)

        opening.result().follow_commands(hear_message)
        return True

    def workers(self) -> Work[tuple[WorkerBeat, ...]]:
        return _EngineWork(lambda _engine: list_workers(self.namespace))

    def command(self, command: WorkerCommand) -> Work[int]:
        own = replace(command, namespace=self.namespace)
        return _EngineWork(lambda _engine: command_workers(own))

    def queues(self, *, after: str | None, limit: int) -> Work[QueuePage]:
        return _EngineWork(lambda engine: list_queues(engine.layout, self.namespace, after=after, limit=limit))

    def stats(self, queue: str) -> Work[QueueStats]:
        return _EngineWork(lambda engine: stats(self._queue(engine, queue)))

    def jobs(self, queue: str, state: JobState, *, after: str | None, limit: int) -> Work[Page]:
        return _EngineWork(lambda engine: list_jobs(self._queue(engine, queue), state, after=after, limit=limit))

    def peek(self, queue: str) -> Work[Delivery | None]:
        return _EngineWork(lambda engine: peek(self._queue(engine, queue)))

    def empty(self, queue: str, *, everything: bool) -> Work[None]:
        return _EngineWork(lambda engine: _empty(self._queue(engine, queue), everything))

    def delete(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        return _EngineWork(lambda engine: delete_jobs(self._queue(engine, queue), job_ids))

    def respawn(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        return _EngineWork(lambda engine: respawn(self._queue(engine, queue), ttl_ms=0, ids=job_ids))

    def run_now(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        return _EngineWork(lambda engine: _run_now(self._queue(engine, queue), job_ids))

    def pause(self, queue: str) -> Work[bool]:
        return _EngineWork(lambda engine: pause(self._queue(engine, queue), must_exist=True))

    def resume(self, queue: str) -> Work[bool]:
        return _EngineWork(lambda engine: resume(self._queue(engine, queue)))


def _jobs_of(consuming: Plan[Consumed]) -> Plan[tuple[Delivery, ...]]:
    consumed = yield from consuming
    return consumed.jobs


def _empty(queue: QueueKeys, everything: bool) -> Plan[None]:
    yield from destroy(queue, everything=everything)


def _run_now(queue: QueueKeys, job_ids: Sequence[str]) -> Plan[int]:
    outcomes = yield from reschedule(queue, job_ids, delay_ms=0)
    return sum(outcome is Rescheduled.MOVED for outcome in outcomes)
