"""What every broker can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from queues.engine import (
    AckOutcome,
    BeatReply,
    Delivery,
    Dependency,
    FailResult,
    JobDetail,
    JobResult,
    JobState,
    NodeRequest,
    NodeResults,
    NodesAdded,
    OpenJob,
    Page,
    Published,
    PublishOptions,
    QueuePage,
    QueueStats,
    WorkerCommand,
    Workflow,
)
from queues.engine.stats.heartbeats import WorkerBeat

from ..errors import NotConfiguredError
from ..queue_limits import QueueLimits

T = TypeVar("T")


class Work(Generic[T]):
    """A call that a broker makes, with a result of type T. Each broker has its own kind."""


class PreparedJob(Protocol):
    """A job that is about to be published."""

    @property
    def queue(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def options(self) -> PublishOptions: ...


class Broker(ABC):
    """Jobs of one namespace. Safe to use from threads, and from any number of event loops.

    Raises the errors of `queues.engine.errors`, also over HTTP.
    """

    namespace: str
    url: str
    """The URL without secrets, for logs."""

    keeps_schedules: bool = False
    """Whether it reaches a service, which keeps schedules."""

    # Doing it.

    @abstractmethod
    def run(self, work: Work[T]) -> T:
        """Do it now."""

    @abstractmethod
    async def arun(self, work: Work[T]) -> T:
        """Do it from asyncio."""

    async def arun_all(self, works: Sequence[Work[Any]]) -> list[Any]:
        """Do all, together where that is possible; a TaskqError is the result of what raised it."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Close connections of synchronous use."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close those of the running event loop."""

    # What producers do.

    @abstractmethod
    def publish(self, queue: str, bodies: Sequence[bytes], options: PublishOptions) -> Work[Published]:
        """Publish jobs, all or nothing; with more dependencies than fit one publish: see `open_jobs`."""

    @abstractmethod
    def add_dependencies(self, queue: str, job_id: str, depends_on: Sequence[Dependency]) -> Work[OpenJob]:
        """Have a job that was published with `dependencies_open` wait for these, too; any number, in pages.

        Raises InvalidArgumentError, JobNotFoundError, DependenciesClosedError.
        """

    @abstractmethod
    def close_dependencies(self, queue: str, job_id: str) -> Work[OpenJob]:
        """Have such a job take no more. Raises JobNotFoundError."""

    def publish_and_wait(self, job: PreparedJob, *, wait_s: float) -> Work[tuple[Published, JobResult]] | None:
        """Publish and wait for the result in one round trip. None: this broker cannot; publish, then wait."""
        return None

    once_max = 1
    """Jobs that one `publish_once` takes."""

    @abstractmethod
    def publish_once(
        self, queue: str, bodies: Sequence[bytes], options: PublishOptions, *, once: Sequence[str]
    ) -> Work[Published]:
        """Publish jobs under ids by which a repetition is known: see `queues.engine.publish_once`."""

    def settle_once(self, queue: str, once: Sequence[str]) -> Work[int] | None:
        """Have such ids forgotten soon. None: this broker cannot; they are forgotten in time."""
        return None

    @abstractmethod
    def republish(self, queue: str, job_id: str, body: bytes, options: PublishOptions) -> Work[Published]:
        """Publish a job in place of another one, which is deleted in the same step."""

    @abstractmethod
    def result(self, queue: str, job_id: str) -> Work[JobResult]: ...

    @abstractmethod
    def detail(self, queue: str, job_id: str) -> Work[JobDetail | None]: ...

    @abstractmethod
    def note(self, queue: str, job_id: str) -> Work[dict[str, bytes]]: ...

    @abstractmethod
    def cancel(self, queue: str, job_id: str) -> Work[JobState | None]: ...

    @abstractmethod
    def create_workflow(
        self, workflow_id: str, nodes: Sequence[NodeRequest], *, name: str, retention_ms: int
    ) -> Work[NodesAdded]: ...

    @abstractmethod
    def add_nodes(self, workflow_id: str, nodes: Sequence[NodeRequest]) -> Work[NodesAdded]: ...

    @abstractmethod
    def workflow(self, workflow_id: str, *, after: int) -> Work[Workflow]:
        """A workflow with a page of its nodes, from this number on. Raises WorkflowNotFoundError."""

    @abstractmethod
    def cancel_workflow(self, workflow_id: str) -> Work[bool]:
        """False: it was cancelled before."""

    @abstractmethod
    def retry_workflow(self, workflow_id: str) -> Work[int]:
        """How many nodes came back."""

    @abstractmethod
    def node_results(self, workflow_id: str, node: str, *, after: int) -> Work[NodeResults]:
        """A page of the results of the nodes that a node depends on."""

    @abstractmethod
    def find_key(self, queue: str, key: str) -> Work[str | None]:
        """The id of the job that was published with this key last, in any state. Raises InvalidArgumentError."""

    @abstractmethod
    async def wait_result(self, queue: str, job_id: str, *, timeout_s: float) -> JobResult: ...

    # What workers do.

    def limit_queues(self, queue_limits: Mapping[str, QueueLimits]) -> None:
        """Hold all that is consumed from now on to these limits, by queue. Raises NotConfiguredError over HTTP."""
        if queue_limits:
            raise NotConfiguredError(
                f"queue_limits need a redis:// URL: at {self.url} the policies of the queues say their limits"
            )

    @abstractmethod
    def take(
        self, queues: Sequence[str], *, count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> Work[tuple[Delivery, ...]]:
        """Consume; a broker that can do so waits up to `timeout_s` for jobs, others look once."""

    @abstractmethod
    async def consume(
        self, queues: Sequence[str], *, count: int, ttr_ms: int, timeout_s: float, consumer: str
    ) -> tuple[Delivery, ...]: ...

    @abstractmethod
    def ack(self, queue: str, job_ids: Sequence[str], *, attempt: int) -> Work[tuple[AckOutcome, ...]]: ...

    @abstractmethod
    def ack_result(self, queue: str, job_id: str, *, attempt: int, result: bytes) -> Work[Any]: ...

    @abstractmethod
    def fail(
        self, queue: str, job_id: str, *, attempt: int, error: str, delay_ms: int | None, dead: bool
    ) -> Work[FailResult]: ...

    @abstractmethod
    def release(self, queue: str, job_id: str, *, attempt: int, delay_ms: int) -> Work[None]: ...

    @abstractmethod
    def extend(self, queue: str, job_id: str, *, attempt: int, ttr_ms: int) -> Work[int]: ...

    @abstractmethod
    def annotate(
        self, queue: str, job_id: str, fields: Mapping[str, str | bytes], *, lines: Sequence[str], keep_ms: int
    ) -> Work[None]: ...

    @abstractmethod
    def hold_key(self, queue: str, key: str, job_id: str) -> Work[str | None]:
        """Have a job that is worked on hold a key. None: it does; else the id of the job that holds it."""

    @abstractmethod
    def beat(self, beat: WorkerBeat, *, since_ms: int, ends: bool) -> Work[BeatReply]: ...

    def follow_commands(self, hear: Callable[[WorkerCommand], None]) -> bool:
        """Receive commands to workers at once. False: this broker cannot; they come with the heartbeats."""
        return False

    # What operators do.

    @abstractmethod
    def workers(self) -> Work[tuple[WorkerBeat, ...]]: ...

    @abstractmethod
    def command(self, command: WorkerCommand) -> Work[int]: ...

    @abstractmethod
    def queues(self, *, after: str | None, limit: int) -> Work[QueuePage]: ...

    @abstractmethod
    def stats(self, queue: str) -> Work[QueueStats]: ...

    @abstractmethod
    def jobs(self, queue: str, state: JobState, *, after: str | None, limit: int) -> Work[Page]: ...

    @abstractmethod
    def peek(self, queue: str) -> Work[Delivery | None]:
        """The job that the next consume would get. Its attempt is that of its last delivery, 0 over HTTP."""

    @abstractmethod
    def empty(self, queue: str, *, everything: bool) -> Work[None]:
        """Delete the ready jobs, or those of every state."""

    @abstractmethod
    def delete(self, queue: str, job_ids: Sequence[str]) -> Work[int]: ...

    @abstractmethod
    def respawn(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        """Dead letters → ready, with one more try each."""

    @abstractmethod
    def run_now(self, queue: str, job_ids: Sequence[str]) -> Work[int]:
        """Delayed jobs, and those that wait for their next try → ready. How many there were."""

    @abstractmethod
    def pause(self, queue: str) -> Work[bool]:
        """False: it was paused already. Raises QueueNotFoundError for one that does not exist."""

    @abstractmethod
    def resume(self, queue: str) -> Work[bool]:
        """False: it was not paused."""
