"""The backend for Django's Tasks: `TASKS = {"default": {"BACKEND": "taskq.django.TaskqBackend"}}`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.apps import apps
from django.core import checks
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from queues.engine import InvalidArgumentError, KeyMode, TaskqError, prepare
from queues.engine.names import check_queue, published_ms

from ..brokers import Work
from ..errors import NotConfiguredError, SerializationError, TaskqClientError
from ..message import read_message, write_message
from ..options import RetryPolicy, TaskOptions
from ..serializers import from_json
from ..task import Prepared
from .compat import (
    BaseTaskBackend,
    InvalidTask,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from .connection_settings import project_outbox, read_outbox
from .django_app import AppBackend, DjangoApp, app_of_backend
from .execution import DjangoTask, DjangoTaskMiddleware
from .results import STATUS, ResultId, result_of_job, to_datetime
from .task_names import PREFIX, backend_alias, job_task_name, load_task
from .transactions import is_in_transaction

DEFAULT_RETENTION_S: Final = 86_400
OPTIONS: Final = frozenset(
    ("URL", "NAMESPACE", "TOKEN", "RETENTION", "RETRY", "TIMEOUT", "ENQUEUE_ON_COMMIT", "OUTBOX")
)


class TaskqBackend(AppBackend, BaseTaskBackend):
    """Jobs of taskq as Django's Tasks. Its OPTIONS are described in docs/sdk/django.md.

    A result's id is `QUEUE:JOB`: the job's id, or, of a task that was enqueued within a transaction, what was chosen
    before there was a job.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._task_options: dict[tuple[str, int], TaskOptions] = {}

    @property
    def app(self) -> DjangoApp:
        """The app that holds the backend's connections."""
        return app_of_backend(self.options)

    def task_options(self, queue: str, priority: int) -> TaskOptions:
        """How jobs of this backend are treated. Raises NotConfiguredError for OPTIONS out of range."""
        known = self._task_options.get((queue, priority))
        if known is None:
            known = TaskOptions(
                queue=queue,
                priority=int(priority),
                retention=self.options.get("RETENTION", DEFAULT_RETENTION_S),
                timeout=self.options.get("TIMEOUT"),
                retry=_retry_policy(self.options.get("RETRY", 1)),
            )
            self._task_options[queue, priority] = known
        return known

    def find_job_task(self, app: DjangoApp, name: str) -> DjangoTask:
        """The task that a job names, for a worker of `app`. Raises LookupError, whose text says why it is parked."""
        task = load_task(name)
        if not any(isinstance(one, DjangoTaskMiddleware) for one in app.middleware):
            app.middleware.append(DjangoTaskMiddleware())  # innermost: others see the arguments of the function
        try:
            options = self.task_options(task.queue_name, task.priority)
            found = app.django_tasks[name] = DjangoTask(app, name, task, self, options)
        except (TaskqClientError, TaskqError, ImportError, TypeError, ValueError) as error:
            raise LookupError(f"OPTIONS of TASKS[{self.alias!r}]: {error}") from error
        return found

    def validate_task(self, task: Task[..., Any]) -> None:
        super().validate_task(task)
        try:
            check_queue(task.queue_name)
        except InvalidArgumentError as error:
            raise InvalidTask(f"Queue {task.queue_name!r} is not valid for taskq: {error}.") from error

    # Enqueueing.

    def enqueue(self, task: Task[..., Any], args: Any, kwargs: Any) -> TaskResult[Any]:
        """Enqueue a task, or have it enqueued when the transaction commits: then `enqueued_at` is None meanwhile.

        Raises what `taskq.Task.enqueue` raises.
        """
        result = self._new_result(task, args, kwargs)
        if self._outbox:
            self._write_to_outbox(result)
        elif not (self._may_wait and self._enqueue_on_commit(result)):
            prepared = self._prepare(result)
            self._set_enqueued(result, self.app.broker.run(prepared.work(self.app)).job_ids[0])
            task_enqueued.send(type(self), task_result=result)
        return result

    async def aenqueue(self, task: Task[..., Any], args: Any, kwargs: Any) -> TaskResult[Any]:
        """The same for asyncio."""
        result = self._new_result(task, args, kwargs)
        if self._outbox:
            await sync_to_async(self._write_to_outbox, thread_sensitive=True)(result)
        elif not (self._may_wait and await self._aenqueue_on_commit(result)):
            prepared = self._prepare(result)
            self._set_enqueued(result, (await self.app.broker.arun(prepared.work(self.app))).job_ids[0])
            await task_enqueued.asend(type(self), task_result=result)
        return result

    @property
    def _may_wait(self) -> bool:
        return bool(self.options.get("ENQUEUE_ON_COMMIT", True))

    def _enqueue_on_commit(self, result: TaskResult[Any]) -> bool:
        """Give the result its final id now, and enqueue it when this thread's transaction commits.

        False: there is no transaction, nothing was done.
        """
        if not is_in_transaction():
            return False
        result_id = ResultId.choose(result.task.queue_name)
        object.__setattr__(result, "id", str(result_id))
        prepared = self._prepare(result, result_id)  # here, so that the caller gets what it raises

        def publish() -> None:
            published = self.app.broker.run(prepared.work(self.app))
            object.__setattr__(result, "enqueued_at", to_datetime(published_ms(published.job_ids[0])))
            task_enqueued.send(type(self), task_result=result)

        transaction.on_commit(publish)
        return True

    async def _aenqueue_on_commit(self, result: TaskResult[Any]) -> bool:
        """The same for asyncio, in the thread in which asgiref runs the ORM."""
        return await sync_to_async(self._enqueue_on_commit, thread_sensitive=True)(result)

    @property
    def _outbox(self) -> bool | str:
        return read_outbox(self.options) if "OUTBOX" in self.options else project_outbox()

    def _write_to_outbox(self, result: TaskResult[Any]) -> None:
        """Give the result its final id, and write its job into the outbox; `task_enqueued` is sent at the commit."""
        from .outbox.rows import database_of, write_rows

        using = database_of(self._outbox)
        result_id = ResultId.choose(result.task.queue_name)
        object.__setattr__(result, "id", str(result_id))
        write_rows(self.app, [(None, self._prepare(result, result_id))], using)

        def tell() -> None:
            object.__setattr__(result, "enqueued_at", timezone.now())
            task_enqueued.send(type(self), task_result=result)

        transaction.on_commit(tell, using=using)

    def _new_result(self, task: Task[..., Any], args: Any, kwargs: Any) -> TaskResult[Any]:
        self.validate_task(task)
        return TaskResult(
            task=task,
            id="",
            status=TaskResultStatus.READY,
            enqueued_at=None,
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=list(args),
            kwargs=kwargs,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )

    def _prepare(self, result: TaskResult[Any], result_id: ResultId | None = None) -> Prepared:
        """The job of a result. With `result_id` it is found, and told apart from a second one, by a key."""
        task = result.task
        body = write_message(job_task_name(task, self.alias), result.args, result.kwargs)
        options = self.task_options(task.queue_name, task.priority).publish_options
        if task.run_after is not None:
            options = replace(options, at_ms=_ms(task.run_after))
        if result_id is not None:
            attributes = {"result_id": result_id.name}
            options = replace(options, key=result_id.key, key_mode=KeyMode.UNTIL_DONE, attributes=attributes)
        return Prepared(task.queue_name, body, options)

    def _set_enqueued(self, result: TaskResult[Any], job_id: str) -> None:
        object.__setattr__(result, "id", str(ResultId(result.task.queue_name, job_id)))
        object.__setattr__(result, "enqueued_at", to_datetime(published_ms(job_id)))

    # Results.

    def get_result(self, result_id: str) -> TaskResult[Any]:
        """The result with this id, from whichever process. Raises TaskResultDoesNotExist, and ImportError if the
        task's module is gone.
        """
        steps = self._read_result(result_id)
        reply = None
        while True:
            try:
                work = steps.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            reply = self.app.broker.run(work)

    async def aget_result(self, result_id: str) -> TaskResult[Any]:
        """The same for asyncio."""
        steps = self._read_result(result_id)
        reply = None
        while True:
            try:
                work = steps.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            reply = await self.app.broker.arun(work)

    def _read_result(self, result_id: str) -> Generator[Work[Any], Any, TaskResult[Any]]:
        """The steps of reading a result: each yields work, and gets what the broker returns for it."""
        found, broker = ResultId.parse(result_id), self.app.broker
        if found is None or (self.queues and found.queue not in self.queues):
            raise TaskResultDoesNotExist(result_id)
        job_id = found.name if found.key is None else (yield broker.find_key(found.queue, found.key))
        job = None if job_id is None else (yield broker.detail(found.queue, job_id))
        if job is None:
            raise TaskResultDoesNotExist(result_id)
        try:
            message = read_message(job.body, serializers=self.app.serializers, cipher=self.app.cipher)
        except SerializationError as error:
            raise TaskResultDoesNotExist(result_id) from error
        if not message.task.startswith(PREFIX) or backend_alias(message.task) != self.alias:
            raise TaskResultDoesNotExist(result_id)
        try:
            task = load_task(message.task)
        except LookupError as error:
            raise ImportError(str(error)) from error
        note = (yield broker.note(found.queue, job_id)) if job.history else {}
        result = result_of_job(task, self.alias, result_id, job, args=message.args, kwargs=message.kwargs, note=note)
        if STATUS[job.state] is TaskResultStatus.SUCCESSFUL and job.result_bytes:
            kept = yield broker.result(found.queue, job_id)
            if kept.state is None:
                raise TaskResultDoesNotExist(result_id)
            object.__setattr__(result, "_return_value", from_json(kept.body) if kept.body else None)
        return result

    # Settings.

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        """System checks of the backend's settings."""
        return [*super().check(**kwargs), *self._check_options(), *self._check_queues()]

    def _check_options(self) -> Iterator[checks.CheckMessage]:
        setting = f"TASKS[{self.alias!r}]"
        if unknown := self.options.keys() - OPTIONS:
            names = ", ".join(sorted(unknown))
            hint = f"There are {', '.join(sorted(OPTIONS))}."
            yield checks.Error(f"{setting} has unknown OPTIONS: {names}.", hint=hint, id="taskq.E001")
        if message := _problem(lambda: self.app.broker):
            yield checks.Error(f"{setting}: {message}", id="taskq.E002")
        if message := _problem(self._try_task_options):
            yield checks.Error(f"{setting}: RETENTION, RETRY or TIMEOUT: {message}", id="taskq.E003")
        if not isinstance(self.options.get("ENQUEUE_ON_COMMIT", True), bool):
            yield checks.Error(f"{setting}: ENQUEUE_ON_COMMIT must be True or False.", id="taskq.E004")
        if message := _problem(lambda: self._outbox):
            yield checks.Error(f"{setting}: {message}", id="taskq.E006")
        if self.options.get("RETENTION", DEFAULT_RETENTION_S) == 0:
            text = f"{setting}: with RETENTION 0 a result is gone as soon as its task is done."
            yield checks.Warning(text, id="taskq.W001")
        if not apps.is_installed("taskq.django"):
            hint = "Add 'taskq.django' to INSTALLED_APPS, for manage.py runworker and the import of tasks modules."
            yield checks.Warning(f"{setting} uses taskq, whose app is not installed.", hint=hint, id="taskq.W002")

    def _try_task_options(self) -> None:
        prepare(self.task_options("default", 0).publish_options)

    def _check_queues(self) -> Iterator[checks.CheckMessage]:
        for queue in sorted(self.queues):
            if message := _problem(partial(check_queue, queue)):
                yield checks.Error(f"TASKS[{self.alias!r}]: queue {queue!r}: {message}", id="taskq.E005")


def _problem(check: Callable[[], object]) -> str:
    """What a check raises, as text; "" if it passes."""
    try:
        check()
    except (TaskqClientError, TaskqError, ImportError, TypeError, ValueError) as error:
        return str(error)
    return ""


def _ms(at: datetime) -> int:
    aware = timezone.make_aware(at) if timezone.is_naive(at) else at
    return round(aware.timestamp() * 1_000)


def _retry_policy(setting: Any) -> RetryPolicy:
    """RETRY: a number of tries, or fields of RetryPolicy in which exceptions may be named by their paths."""
    if isinstance(setting, int):
        return RetryPolicy(tries=setting)
    if not isinstance(setting, dict):
        raise NotConfiguredError(f"RETRY must be a number of tries or a dict, not {setting!r}")
    fields = {str(name).lower(): value for name, value in setting.items()}
    for name in {"only", "never"} & fields.keys():
        fields[name] = tuple([import_string(one) if isinstance(one, str) else one for one in fields[name]])
    return RetryPolicy(**fields)
