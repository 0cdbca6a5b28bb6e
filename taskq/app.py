"""The app: where tasks are declared, and how their jobs reach taskq."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, overload

from queues.engine import Published

from .brokers import Broker, Work, open_broker
from .context import Context
from .errors import NotConfiguredError
from .job import Job
from .message import Cipher
from .middleware import Middleware
from .options import TaskOptions
from .outcomes import Delay
from .queue_limits import QueueLimits, read_queue_limits
from .schedule import Schedule, declared
from .serializers import FernetCipher, Serializer
from .task import BATCH_MAX, BATCH_MAX_BYTES, Prepared, Task
from .workflow import Call
from .workflow_handle import WorkflowHandle

P = ParamSpec("P")
R = TypeVar("R")
Lifespan = Callable[["App"], AbstractAsyncContextManager[Any]]


class _Declare:
    """What `@app.task(...)` is applied to; its overloads take the Context away from the callers' signature."""

    def __init__(self, app: App, name: str | None, options: TaskOptions, schedules: Sequence[Schedule] = ()) -> None:
        self._app = app
        self._name = name
        self._options = options
        self._schedules = schedules

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R]) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> Task[P, R]: ...
    def __call__(self, function: Callable[..., Any]) -> Task[..., Any]:
        return self._app.add_task(function, self._name, self._options, self._schedules)


class App:
    """Tasks, and the taskq that runs them.

        app = App("redis://localhost:6379/0", namespace="shop")

        @app.task(queue="mail", timeout=30)
        async def send(to: str, *, subject: str = "") -> None: ...

        send.enqueue("x@example.com", subject="Hello")

    `url`, `namespace`, `token`: see `taskq.brokers.open_broker`; nothing is opened before it is used. `defaults`:
    options of all tasks (TaskOptions). `lifespan`: an async context manager around a worker's life, which yields what
    tasks find in `Context.state`. `serializers`: those that jobs may have been written with; the first one writes
    (None: JSON). `encryption_keys`: Fernet keys, the newest first; messages that are not encrypted are parked,
    unless `accept_plaintext`. `name`: whose schedules those of its tasks are; by default the module's that workers are
    given. `service_url`: where the service's HTTP API is that keeps them, if `url` is a Redis. `queue_limits`: what all
    workers together keep to, by queue, if `url` is a Redis; over HTTP the queues' policies say it.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        token: str | None = None,
        defaults: TaskOptions | None = None,
        middleware: Sequence[Middleware] = (),
        lifespan: Lifespan | None = None,
        serializers: Sequence[Serializer] = (),
        encryption_keys: Sequence[str | bytes] = (),
        accept_plaintext: bool = False,
        name: str | None = None,
        service_url: str | None = None,
        queue_limits: Mapping[str, QueueLimits] | None = None,
    ) -> None:
        self.name = name
        self._service_url = service_url
        self._place = (url, namespace, token)
        self._broker: Broker | None = None
        self._defaults = defaults or TaskOptions()
        self.tasks: dict[str, Task[..., Any]] = {}
        self.middleware: list[Middleware] = list(middleware)
        self.lifespan = lifespan
        self.process_setup: str | None = None
        """A module that a process imports before it imports that of a task with `process=True`."""
        self.serializers = {serializer.name: serializer for serializer in serializers}
        self.serializer = serializers[0] if serializers else None
        self.cipher: Cipher | None = FernetCipher(encryption_keys) if encryption_keys else None
        self.accept_plaintext = accept_plaintext
        self._queue_limits = read_queue_limits(queue_limits)
        self._interceptor: Any = None

    @property
    def broker(self) -> Broker:
        """Raises NotConfiguredError if nothing says where taskq is."""
        if self._broker is None:
            url, namespace, token = self._place
            self._broker = open_broker(url, namespace=namespace, token=token)
        return self._broker

    @broker.setter
    def broker(self, broker: Broker) -> None:
        self._broker = broker

    @property
    def service(self) -> tuple[str | None, str | None]:
        """URL and token of the service's HTTP API, as far as the app was given them."""
        return self._service_url, self._place[2]

    @property
    def queue_limits(self) -> Mapping[str, QueueLimits]:
        """What its workers keep to, by queue. Raises NotConfiguredError (of settings)."""
        return self._queue_limits

    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self,
        /,
        *,
        name: str | None = None,
        cron: str | None = None,
        every: Delay | None = None,
        zone: str | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        schedules: Sequence[Schedule] = (),
        **options: Any,
    ) -> _Declare: ...
    def task(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        cron: str | None = None,
        every: Delay | None = None,
        zone: str | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        schedules: Sequence[Schedule] = (),
        **options: Any,
    ) -> Any:
        """Declare a task: `@app.task`, or `@app.task(queue="mail", ...)` with options (TaskOptions).

        `name`: what its jobs call it, by default `module.function`; it must stay the same from deploy to deploy.
        `cron` (in `zone`) or `every`: run it by the clock, with `args` and `kwargs`; `schedules`: more of these, with
        more to say (`taskq.Schedule`). `taskq schedules sync`, and a worker when it starts, tell the service.
        """
        changed = self._defaults.changed(**options) if options else self._defaults
        by_clock = declared(schedules=schedules, cron=cron, every=every, zone=zone, args=args, kwargs=kwargs)
        if function is not None:
            return self.add_task(function, name, changed, by_clock)
        return _Declare(self, name, changed, by_clock)

    def add_task(
        self,
        function: Callable[..., Any],
        name: str | None,
        options: TaskOptions,
        schedules: Sequence[Schedule] = (),
    ) -> Task[..., Any]:
        """Declare a task without the decorator. Raises NotConfiguredError for a name that is taken."""
        if isinstance(function, Task):
            raise NotConfiguredError(f"{function.name} is a task already")
        if not callable(function) or not (name or hasattr(function, "__qualname__")):
            raise NotConfiguredError(f"a task is a function, or something callable with a name=, not {function!r}")
        name = name or f"{_module_name(function)}.{function.__qualname__}"
        known = self.tasks.get(name)
        if (
            known is not None
            and inspect.unwrap(known.function) is not inspect.unwrap(function)
            and not _is_reloaded(known, function)
        ):
            raise NotConfiguredError(f"there are two tasks named {name}: give one of them a name=")
        task: Task[..., Any] = Task(self, function, name, options)
        task.schedules = tuple(schedules)
        self.tasks[name] = task
        return task

    def find_task(self, name: str) -> Task[..., Any]:
        """The task that a job names. Raises LookupError, whose text says why a worker parks the job."""
        task = self.tasks.get(name)
        if task is None:
            raise LookupError("this worker has no such task")
        return task

    def queues(self) -> set[str]:
        """The queues of the tasks: those that a worker takes jobs from unless it is told others."""
        return {task.options.queue for task in self.tasks.values()}

    def enqueue_many(self, calls: Iterable[Call]) -> list[Job[Any]]:
        """Enqueue calls (`task.call(...)`), a thousand per round trip; jobs in their order. See `Task.enqueue_many`."""
        groups = group_calls(calls)
        if self.is_intercepting:
            return [self.intercept(task, one) for group in groups for task, one in group]
        return [job for group in groups for job in self.publish(group)]

    async def aenqueue_many(self, calls: Iterable[Call]) -> list[Job[Any]]:
        """The same for asyncio."""
        groups = group_calls(calls)
        if self.is_intercepting:
            return [await self.aintercept(task, one) for group in groups for task, one in group]
        return [job for group in groups for job in await self.apublish(group)]

    def publish(self, group: Group) -> list[Job[Any]]:
        """Publish calls that `group_calls` put together."""
        return _jobs(self, group, self.broker.run(_work(self, group)))

    async def apublish(self, group: Group) -> list[Job[Any]]:
        """The same for asyncio."""
        return _jobs(self, group, await self.broker.arun(_work(self, group)))

    def close(self) -> None:
        """Close the connections of synchronous use; the next use opens new ones."""
        if self._broker is not None:
            self._broker.close()

    async def aclose(self) -> None:
        """Close those of the running event loop."""
        if self._broker is not None:
            await self._broker.aclose()

    def workflow(self, workflow_id: str) -> WorkflowHandle:
        """A workflow by its id, from anywhere."""
        return WorkflowHandle(self, workflow_id)

    def job(self, queue: str, job_id: str) -> Job[Any]:
        """A job by its id, from anywhere."""
        return Job(self, queue, job_id)

    # For `taskq.testing` and `taskq.django`: an interceptor takes what is enqueued.

    @property
    def is_intercepting(self) -> bool:
        return self._interceptor is not None

    @property
    def is_testing(self) -> bool:
        """Whether an interceptor takes what is enqueued, and knows how it ends."""
        return self._interceptor is not None

    def set_interceptor(self, interceptor: Any) -> None:
        """`interceptor.enqueue(task, prepared)` and `.aenqueue` take all that is enqueued from now on; None: none."""
        self._interceptor = interceptor

    has_outbox = False
    """Whether there is a database to write jobs into (taskq.django)."""

    def intercept(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        return self._interceptor.enqueue(task, prepared)  # type: ignore[no-any-return]

    async def aintercept(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        return await self._interceptor.aenqueue(task, prepared)  # type: ignore[no-any-return]


Group = list[tuple[Task[..., Any], Prepared]]
"""Calls that are published together."""

MAIN: Final = "__main__"


def group_calls(calls: Iterable[Call]) -> list[Group]:
    """Neighbours that go to one queue with equal options, a thousand and BATCH_MAX_BYTES at most.

    One with a key goes alone.
    """
    groups: list[Group] = []
    size = 0
    for call in calls:
        if not isinstance(call, Call):
            raise TypeError(f"enqueue_many takes calls, made by task.call(...), not {call!r}")
        bound = call.task
        prepared = bound.task.prepare(bound.options, call.args, call.kwargs)
        if groups:
            last = groups[-1][-1][1]
            fits = last.queue == prepared.queue and prepared.options.key is None and len(groups[-1]) < BATCH_MAX
            fits = fits and last.on_commit == prepared.on_commit and last.outbox == prepared.outbox
            fits = fits and size + len(prepared.body) <= BATCH_MAX_BYTES
            if fits and (last.options is prepared.options or last.options == prepared.options):
                groups[-1].append((bound.task, prepared))
                size += len(prepared.body)
                continue
        groups.append([(bound.task, prepared)])
        size = len(prepared.body)
    return groups


def _work(app: App, group: Group) -> Work[Published]:
    first = group[0][1]
    return app.broker.publish(first.queue, [prepared.body for _, prepared in group], first.options)


def _jobs(app: App, group: Group, published: Published) -> list[Job[Any]]:
    queue = group[0][1].queue
    return [
        Job(app, queue, job_id, task=task, is_duplicate=published.duplicate)
        for (task, _), job_id in zip(group, published.job_ids, strict=True)
    ]


def _module_name(function: Callable[..., Any]) -> str:
    """Of a script that is run (`python tasks.py`) the name under which workers import it."""
    if function.__module__ != MAIN:
        return function.__module__
    spec = getattr(sys.modules[MAIN], "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name).removesuffix(".__main__")
    path = getattr(sys.modules[MAIN], "__file__", None) or MAIN
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


def _is_reloaded(known: Task[..., Any], function: Callable[..., Any]) -> bool:
    """Whether it is the same function of a module that was imported again."""
    return known.function.__module__ == function.__module__ and known.function.__qualname__ == function.__qualname__
