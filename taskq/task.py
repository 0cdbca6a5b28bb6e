"""Tasks: functions that can be enqueued. Calling one stays a plain call."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Generic, Literal, NamedTuple, ParamSpec, TypeVar, cast, overload

from queues.engine import JobState, PublishOptions, prepare
from queues.engine.constants import KEY_MAX_BYTES, WAIT_RETENTION_S
from queues.engine.names import check_queue

from .context import Context, current_context
from .errors import NotConfiguredError, SerializationError, TaskqClientError
from .injection import Resolver
from .job import AppProtocol, Job, waiting_for
from .message import write_message
from .middleware import Enqueueing
from .options import Key, TaskOptions, keyed
from .schedule import Schedule
from .serializers import convert, type_hints
from .signatures import annotations_of, parameter_names, positional_counts, positional_names, signature_without
from .workflow import Call, Workflow, group

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Kind = Literal["async", "thread", "process"]
BATCH_MAX: Final = 1_000
BATCH_MAX_BYTES: Final = 8 * 1024 * 1024
"""Bodies that are published together, so that a server with a smaller limit than the default takes them, too."""


class BoundTask(Generic[P, R]):
    """A task with options for its next calls."""

    def __init__(self, task: Task[P, R], options: TaskOptions) -> None:
        self.task = task
        self.options = options

    def using(self, **options: Any) -> BoundTask[P, R]:
        """The task with other options (those of TaskOptions), for the calls that follow.

        Raises NotConfiguredError for `timeout` and `process`, which workers look up with the task.
        """
        own = sorted(options.keys() & {"timeout", "process"})
        if own or options.get("key_mode") == "no_overlap":
            names = ", ".join(own) or 'key_mode="no_overlap"'
            raise NotConfiguredError(f"{self.task.name}: {names} belongs to the task, not to a call")
        return BoundTask(self.task, self.options.changed(**options))

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call:
        """These arguments, for `enqueue_many`, and for workflows."""
        return Call(self, args, kwargs)

    def partial(self, *args: Any, **kwargs: Any) -> Call:
        """As `call`, for a workflow in which the first argument is what others return. Checked when it is enqueued."""
        return Call(self, args, kwargs)

    def map(self, items: Iterable[Any]) -> Workflow:
        """A group: the task called with each of `items`."""

        return group([Call(self, (item,), {}, takes_results=False) for item in items])

    @overload
    def enqueue(self: BoundTask[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> Job[T]: ...
    @overload
    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R]: ...
    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[Any]:
        """Enqueue the call. Raises SerializationError, TypeError for arguments that do not fit, and the engine's
        errors.

        Waits for Redis: in an event loop use `aenqueue`.
        """
        app = self.task.app
        prepared = self.task.prepare(self.options, args, kwargs)
        if app.is_intercepting:
            return app.intercept(self.task, prepared)
        return self.task.job_of(prepared, app.broker.run(prepared.work(app)))

    @overload
    async def aenqueue(self: BoundTask[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> Job[T]: ...
    @overload
    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R]: ...
    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[Any]:
        """The same for asyncio."""
        app = self.task.app
        prepared = self.task.prepare(self.options, args, kwargs)
        if app.is_intercepting:
            return await app.aintercept(self.task, prepared)
        return self.task.job_of(prepared, await app.broker.arun(prepared.work(app)))

    @overload
    def enqueue_and_wait(self: BoundTask[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    def enqueue_and_wait(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def enqueue_and_wait(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Enqueue the call at once, also within a transaction, and return what the task returned.

        Waits for up to `wait` (TaskOptions), over HTTP in the same request. The result is kept for its `retention`, at
        least a minute. Raises ResultTimeoutError, whose `job_id` says which job goes on, and what `enqueue` and
        `Job.result` raise.
        """
        app, options = self.task.app, self._waiting_options
        ends = time.monotonic() + options.wait_s
        prepared = self.task.prepare(options, args, kwargs)
        if app.is_testing:
            return app.intercept(self.task, prepared).result(options.wait_s)
        work, found = app.broker.publish_and_wait(prepared, wait_s=options.wait_s), None
        if work is None:
            job = self.task.job_of(prepared, app.broker.run(prepared.work(app)))
        else:
            published, found = app.broker.run(work)
            job = self.task.job_of(prepared, published)
        if found is not None and found.state is JobState.COMPLETED:
            return job.value_of(found)
        with waiting_for(job, options.wait_s):
            return job.result(max(0.0, ends - time.monotonic()))

    @overload
    async def aenqueue_and_wait(self: BoundTask[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    async def aenqueue_and_wait(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    async def aenqueue_and_wait(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The same for asyncio."""
        app, options = self.task.app, self._waiting_options
        ends = time.monotonic() + options.wait_s
        prepared = self.task.prepare(options, args, kwargs)
        if app.is_testing:
            return await (await app.aintercept(self.task, prepared)).aresult(options.wait_s)
        work, found = app.broker.publish_and_wait(prepared, wait_s=options.wait_s), None
        if work is None:
            job = self.task.job_of(prepared, await app.broker.arun(prepared.work(app)))
        else:
            published, found = await app.broker.arun(work)
            job = self.task.job_of(prepared, published)
        if found is not None and found.state is JobState.COMPLETED:
            return job.value_of(found)
        with waiting_for(job, options.wait_s):
            return await job.aresult(max(0.0, ends - time.monotonic()))

    @functools.cached_property
    def _waiting_options(self) -> TaskOptions:
        """With the retention that a caller who waits needs. Raises NotConfiguredError."""
        if self.options.group is not None:
            raise NotConfiguredError(f"{self.task.name}: nobody waits for a task with group=, which runs later")
        return self.options.changed(retention=max(self.options.retention_s, WAIT_RETENTION_S))

    def enqueue_many(self, calls: Iterable[Call]) -> list[Job[Any]]:
        """Enqueue calls made by `call`, of this or other tasks, a thousand per round trip; jobs in their order.

        Those of one queue with equal options are all or nothing, up to a thousand or 8 MiB.
        """
        return self.task.app.enqueue_many(calls)

    async def aenqueue_many(self, calls: Iterable[Call]) -> list[Job[Any]]:
        """The same for asyncio."""
        return await self.task.app.aenqueue_many(calls)


class Task(BoundTask[P, R]):
    """A function that workers run. Made by `App.task`."""

    def __init__(self, app: AppProtocol, function: Callable[..., Any], name: str, options: TaskOptions) -> None:
        super().__init__(self, options)
        functools.update_wrapper(self, function)
        self.app = app
        self.name = name
        self.function = function
        self.schedules: tuple[Schedule, ...] = ()
        self.resolver = Resolver(function)
        self._own = {one.name for one in self.resolver.injected}
        self._signature = signature_without(function, self._own)
        self._order = positional_names(function)
        self._hints = type_hints(function)
        self._positional, self._required = positional_counts(self._signature)
        self._names = parameter_names(self._signature)
        self._converted = annotations_of(self._signature, self._hints)
        self.kind: Kind = _kind(function, options)
        self.is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        check_queue(options.queue)  # a mistake is reported where the task is declared
        prepare(options.publish_options)
        if options.group is not None and (self._positional != 1 or self._required != 1):
            raise NotConfiguredError(f"{name}: a task with group= has one parameter, a list")

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """A plain call of the function. A Context that it wants and is not given is the current one, or an empty
        one.
        """
        for one in self.resolver.injected:
            if one.dependency is not None and one.name not in kwargs:
                raise TypeError(f"{self.name}: a plain call must give {one.name}=, which a worker provides")
        missing = {
            one.name: _context() for one in self.resolver.injected if one.dependency is None and one.name not in kwargs
        }
        placed, named = self.place(args, kwargs, missing)
        return cast("R", self.function(*placed, **named))

    def place(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], provided: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Arguments of a caller, and those that are provided, in the order that the function has them."""
        if not provided:
            return args, kwargs
        placed: list[Any] = []
        left, given = dict(provided), list(args)
        for name in self._order:
            if name in left:
                placed.append(left.pop(name))
            elif given:
                placed.append(given.pop(0))
            else:
                break
        return placed + given, {**kwargs, **left}

    def check_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments | None:
        """Raises TypeError for arguments that do not fit the signature, as a call would.

        Returns the arguments by their names if it had to bind them to know.
        """
        if self._signature is None or (not kwargs and self._required <= len(args) <= self._positional):
            return None
        try:
            return self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None

    def read_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as JSON has them → as the function wants them. Raises SerializationError, which names the
        argument.
        """
        try:
            self.check_arguments(args, kwargs)
        except TypeError as error:
            raise SerializationError(str(error)) from error
        if not self._converted:
            return tuple(args), dict(kwargs)
        names = self._names
        placed = names.positional
        if len(args) > len(placed):
            placed += (names.var_positional,) * (len(args) - len(placed))
        read = tuple([self._read(name, value) for name, value in zip(placed, args, strict=False)])
        others = names.var_keyword
        return read, {
            name: self._read(name if name in names.keyword else others, value) for name, value in kwargs.items()
        }

    def _read(self, name: str, value: Any) -> Any:
        kind = self._converted.get(name)
        if kind is None:
            return value
        try:
            return convert(value, kind)
        except SerializationError as error:
            raise SerializationError(f"{self.name}: argument {name}: {error}") from error

    def read_result(self, value: Any) -> Any:
        """A result as JSON has it, as the function's return annotation says."""
        kind = self._hints.get("return")
        return value if kind is None else convert(value, kind)

    def prepare(
        self,
        options: TaskOptions,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        in_workflow: Mapping[str, str] | None = None,
    ) -> Prepared:
        """What is published for a call. `in_workflow`: as the message has it, if it belongs to one."""
        if in_workflow is not None and in_workflow["takes"]:
            self.check_arguments((None, *args), kwargs)
            bound = None
        else:
            bound = self.check_arguments(args, kwargs)
        app = self.app
        publish_options = options.publish_options
        trace: dict[str, str] | None = None
        if app.middleware:
            job = Enqueueing(self.name, options.queue, tuple(args), dict(kwargs), dict(options.attributes or {}))
            for middleware in app.middleware:
                middleware.on_enqueue(job)
            args, kwargs, trace = job.args, job.kwargs, job.trace
            bound = None  # a middleware may have changed them
            if job.attributes != (options.attributes or {}):
                publish_options = replace(publish_options, attributes=job.attributes)
        if options.limit_key is not None:
            limit_key = self._filled_in(options.limit_key, args, kwargs, bound)
            publish_options = replace(publish_options, limit_key=limit_key)
        if options.group is not None:
            if kwargs or len(args) != 1 or not isinstance(args[0], list | tuple):
                raise TypeError(f"{self.name}: a task with group= is called with one list, of what a batch joins")
            if options.outbox:
                raise NotConfiguredError(f"{self.name}: group= and outbox= exclude each other")
            group = f"{self.name}:{self._filled_in(options.group, args, kwargs, bound)}"
            publish_options = replace(publish_options, group=group)
        if options.key is not None:
            key = self.key_of(options, args, kwargs, bound)
            if options.key_mode != "no_overlap":
                publish_options = keyed(publish_options, key, options)
            elif not 1 <= len(key.encode("utf-8", "replace")) <= KEY_MAX_BYTES:
                raise TaskqClientError(f"{self.name}: a key has at most {KEY_MAX_BYTES} bytes, with the task's name")
        body = write_message(
            self.name,
            args,
            kwargs,
            version=options.version,
            result=True if in_workflow else _says_result(options, self.options),
            workflow=in_workflow,
            trace=trace,
            serializer=app.serializer,
            cipher=app.cipher,
        )
        if options.outbox and not app.has_outbox:
            raise NotConfiguredError(f"{self.name}: outbox= needs taskq.django, and a database of a Django project")
        return Prepared(options.queue, body, publish_options, options.on_commit, options.outbox)

    def key_of(
        self,
        options: TaskOptions,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        bound: inspect.BoundArguments | None = None,
    ) -> str:
        """The key of a call, with the task's name before it. Raises TaskqClientError if it does not fit the arguments.

        `bound`: the arguments by their names, if the caller has them: binding is the slowest part of a key.
        """
        assert options.key is not None
        return f"{self.name}:{self._filled_in(options.key, args, kwargs, bound)}"

    def _filled_in(
        self, key: Key, args: Sequence[Any], kwargs: Mapping[str, Any], bound: inspect.BoundArguments | None
    ) -> str:
        """A key with the arguments in it. Raises TaskqClientError if it does not fit them."""
        if callable(key):
            return key(*args, **kwargs)
        if bound is None and self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
        if bound is not None:
            bound.apply_defaults()
        try:
            return key.format(*args, **(bound.arguments if bound else kwargs))
        except (KeyError, IndexError, AttributeError, ValueError, TypeError) as error:
            raise TaskqClientError(f"{self.name}: key {key!r} does not fit the arguments: {error!r}") from error

    def job_of(self, prepared: Prepared, published: Any) -> Job[Any]:
        return Job(self.app, prepared.queue, published.job_ids[0], task=self, is_duplicate=published.duplicate)


def _says_result(options: TaskOptions, declared: TaskOptions) -> bool | None:
    """Whether the result is kept; None: as the task declares."""
    return None if options.retention_s == declared.retention_s else options.retention_s > 0


class Prepared(NamedTuple):
    """A job that is about to be published."""

    queue: str
    body: bytes
    options: PublishOptions
    on_commit: bool = True
    """Whether it waits for the commit of the caller's transaction (taskq.django)."""

    outbox: bool | str | None = None
    """Whether it is written to the outbox (taskq.django), or the alias of a database; None: as the settings say."""

    def work(self, app: AppProtocol) -> Any:
        return app.broker.publish(self.queue, (self.body,), self.options)


def _context() -> Context:
    try:
        return current_context()
    except RuntimeError:
        return Context()


def _kind(function: Callable[..., Any], options: TaskOptions) -> Kind:
    if options.process:
        return "process"
    return "async" if asyncio.iscoroutinefunction(function) or inspect.isasyncgenfunction(function) else "thread"
