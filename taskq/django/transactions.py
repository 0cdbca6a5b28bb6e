"""Database connections of workers, and jobs that wait for the commit of a transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, transaction

from ..app import App, Group
from ..job import Job
from ..middleware import Middleware, Running
from ..task import Task


def is_in_transaction() -> bool:
    """Whether this thread is in a transaction of the default database. Event loops have no transactions."""
    return bool(transaction.get_connection().in_atomic_block)


class PendingJob(Job[Any]):
    """A job that is enqueued when the transaction commits. Its `id` is empty until then."""

    __slots__ = ()

    def __init__(self, app: App, queue: str, task: Task[..., Any]) -> None:
        super().__init__(app, queue, "", task=task)


def enqueue_on_commit(app: App, group: Group) -> list[PendingJob] | None:
    """Publish calls together when this thread's transaction commits. None: there is none, nothing was done."""
    if not is_in_transaction():
        return None
    jobs = [PendingJob(app, prepared.queue, task) for task, prepared in group]

    def publish() -> None:
        for pending, job in zip(jobs, app.publish(group), strict=True):
            pending.id, pending.is_duplicate = job.id, job.is_duplicate

    transaction.on_commit(publish)
    return jobs


aenqueue_on_commit = sync_to_async(enqueue_on_commit, thread_sensitive=True)
"""The same for asyncio: connections, and so transactions, belong to the thread in which asgiref runs the ORM."""


class ConnectionMiddleware(Middleware):
    """Closes database connections that are broken or older than CONN_MAX_AGE before and after each attempt.

    Connections belong to threads. A synchronous task uses those of its own thread, a coroutine those of the thread in
    which asgiref runs the ORM.
    """

    async def around_run(self, run: Running, call_next: Callable[[], Awaitable[Any]]) -> Any:
        assert run.context.app is not None
        if run.context.app.find_task(run.context.task).kind != "async":
            return await call_next()
        await _close_old_connections()
        try:
            return await call_next()
        finally:
            await _close_old_connections()

    def around_thread(self, call_next: Callable[[], Any]) -> Any:
        close_old_connections()
        try:
            return call_next()
        finally:
            close_old_connections()


_close_old_connections = sync_to_async(close_old_connections, thread_sensitive=True)
