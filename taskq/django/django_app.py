"""The app of a Django project: its own tasks (`@app.task`), and those of Django's Tasks in the same namespace."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

from ..app import App, Group, group_calls
from ..brokers import Broker, open_broker
from ..errors import NotConfiguredError
from ..job import Job
from ..queue_limits import QueueLimits
from ..task import Prepared, Task
from ..workflow import Call
from .connection_settings import (
    ConnectionSettings,
    backend_connection,
    project_connection,
    project_outbox,
    project_queue_limits,
)
from .transactions import ConnectionMiddleware, aenqueue_on_commit, enqueue_on_commit


class AppBackend(ABC):
    """A backend of Django's Tasks, as the app of its jobs knows it. `taskq.django.TaskqBackend` is the only one."""

    alias: str
    queues: set[str]

    @property
    @abstractmethod
    def app(self) -> DjangoApp:
        """The app that holds the backend's connections."""

    @abstractmethod
    def find_job_task(self, app: DjangoApp, name: str) -> Task[..., Any]:
        """The task that a job names, for a worker of `app`. Raises LookupError, whose text says why it is parked."""


class DjangoApp(App):
    """An App whose URL is in the settings, and whose jobs wait for the commit of the caller's transaction.

    `read_settings` returns URL, namespace and token. It is called when a broker is needed first, and again after the
    settings changed. `read_limits` returns the limits of queues.
    """

    def __init__(
        self,
        read_settings: Callable[[], ConnectionSettings],
        read_limits: Callable[[], Mapping[str, QueueLimits]] = dict,
    ) -> None:
        super().__init__(middleware=[ConnectionMiddleware()])
        self._read_limits = read_limits
        self._read_settings = read_settings
        self.process_setup = "taskq.django.project"
        self.django_tasks: dict[str, Task[..., Any]] = {}
        """Tasks of Django's Tasks by the names in their jobs, as far as this worker has run them."""

    @property
    def broker(self) -> Broker:
        """Raises NotConfiguredError if nothing says where taskq is."""
        if self._broker is None:
            found = self._read_settings()
            self._broker = open_broker(found.url, namespace=found.namespace, token=found.token)
        return self._broker

    @broker.setter
    def broker(self, broker: Broker) -> None:
        self._broker = broker

    @property
    def service(self) -> tuple[str | None, str | None]:
        """The settings' SERVICE_URL and TOKEN."""
        found = self._read_settings()
        return found.service_url, found.token

    @property
    def queue_limits(self) -> Mapping[str, QueueLimits]:
        """The settings' QUEUE_LIMITS; none in another place than TASKQ's."""
        return self._read_limits()

    def forget_broker(self) -> None:
        """Open another broker when one is needed next."""
        self.django_tasks.clear()
        broker, self._broker = self._broker, None
        if broker is not None:
            broker.close()

    # Django's Tasks.

    def backends(self) -> list[AppBackend]:
        """The TASKS backends with this app's URL, namespace and token."""
        return [backend for backend in taskq_backends() if backend.app is self]

    def find_task(self, name: str) -> Task[..., Any]:
        """Also tasks of Django's Tasks, which are imported by the module path in their jobs."""
        if name.startswith("django:"):
            known = self.django_tasks.get(name)
            if known is not None:
                return known
            from .task_names import backend_alias

            return _backend_named(backend_alias(name)).find_job_task(self, name)
        return super().find_task(name)

    def queues(self) -> set[str]:
        """Also the QUEUES of the TASKS backends."""
        return super().queues().union(*[backend.queues for backend in self.backends()])

    # Transactions.

    has_outbox = True

    @property
    def is_intercepting(self) -> bool:
        return True

    def intercept(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        if self._interceptor is not None:
            return super().intercept(task, prepared)
        return self._enqueue([(task, prepared)])[0]

    async def aintercept(self, task: Task[..., Any], prepared: Prepared) -> Job[Any]:
        if self._interceptor is not None:
            return await super().aintercept(task, prepared)
        return (await self._aenqueue([(task, prepared)]))[0]

    def enqueue_many(self, calls: Iterable[Call]) -> list[Job[Any]]:
        if self._interceptor is not None:
            return super().enqueue_many(calls)
        return [job for group in group_calls(calls) for job in self._enqueue(group)]

    async def aenqueue_many(self, calls: Iterable[Call]) -> list[Job[Any]]:
        if self._interceptor is not None:
            return await super().aenqueue_many(calls)
        return [job for group in group_calls(calls) for job in await self._aenqueue(group)]

    def outbox_of(self, prepared: Prepared) -> bool | str:
        """Whether a call goes to the outbox, or to that of which database: as it says, else as the settings do."""
        return project_outbox() if prepared.outbox is None else prepared.outbox

    def _enqueue(self, group: Group) -> Sequence[Job[Any]]:
        """Publish calls now, or when the transaction commits; or write them to the outbox."""
        if outbox := self.outbox_of(group[0][1]):
            from .outbox.rows import database_of, write_rows

            return write_rows(self, group, database_of(outbox))
        pending = enqueue_on_commit(self, group) if group[0][1].on_commit else None
        return self.publish(group) if pending is None else pending

    async def _aenqueue(self, group: Group) -> Sequence[Job[Any]]:
        if self.outbox_of(group[0][1]):
            return await sync_to_async(self._enqueue, thread_sensitive=True)(group)
        pending = await aenqueue_on_commit(self, group) if group[0][1].on_commit else None
        return await self.apublish(group) if pending is None else pending


app = DjangoApp(project_connection, project_queue_limits)
"""The app of the project: `from taskq.django import app`, then `@app.task`."""

_other_apps: dict[ConnectionSettings, DjangoApp] = {}
_lock = threading.Lock()


def app_of_backend(options: Mapping[str, Any]) -> DjangoApp:
    """The app for a TASKS backend with these OPTIONS: `app`, unless they name another URL or namespace."""
    connection = backend_connection(options)
    if connection == project_connection():
        return app
    with _lock:
        return _other_apps.setdefault(connection, DjangoApp(lambda: connection))


def taskq_backends() -> list[AppBackend]:
    """The TASKS backends that are a TaskqBackend."""
    if not hasattr(settings, "TASKS"):
        return []
    from .compat import task_backends

    return [backend for backend in task_backends.all() if isinstance(backend, AppBackend)]


def _backend_named(alias: str) -> AppBackend:
    """Raises LookupError."""
    from .compat import task_backends

    try:
        backend = task_backends[alias]
    except ImproperlyConfigured as error:
        raise LookupError(f"TASKS has no backend {alias!r}") from error
    if not isinstance(backend, AppBackend):
        raise LookupError(f"the backend {alias!r} in TASKS is no TaskqBackend")
    return backend


def choose_app(alias: str | None) -> DjangoApp:
    """The app that a command serves: that of a TASKS backend, or `app`. Raises NotConfiguredError."""
    if alias is None:
        return app
    backends = {backend.alias: backend for backend in taskq_backends()}
    if alias not in backends:
        known = ", ".join(sorted(backends)) or "none"
        raise NotConfiguredError(f"TASKS has no TaskqBackend {alias!r}; there are: {known}")
    return backends[alias].app


@receiver(setting_changed)
def _forget_settings(*, setting: str, **_: object) -> None:
    """Tests change settings."""
    if setting in ("TASKQ", "TASKS"):
        for one in (app, *_other_apps.values()):
            one.forget_broker()
        _other_apps.clear()
