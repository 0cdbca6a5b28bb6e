"""What tasks, jobs and contexts use of an App. `taskq.app` has it, which imports them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from .job import Job, JobApp
from .serializers import Serializer


class AppProtocol(JobApp, Protocol):
    """The parts of `taskq.app.App` that do not declare tasks. `Any` stands for tasks and middleware."""

    middleware: list[Any]
    serializers: dict[str, Serializer]
    serializer: Serializer | None
    process_setup: str | None
    has_outbox: bool

    @property
    def is_intercepting(self) -> bool: ...

    @property
    def is_testing(self) -> bool: ...

    def intercept(self, task: Any, prepared: Any) -> Job[Any]: ...

    async def aintercept(self, task: Any, prepared: Any) -> Job[Any]: ...

    def find_task(self, name: str) -> Any: ...

    def job(self, queue: str, job_id: str) -> Job[Any]: ...

    def enqueue_many(self, calls: Iterable[Any]) -> list[Job[Any]]: ...

    async def aenqueue_many(self, calls: Iterable[Any]) -> list[Job[Any]]: ...
