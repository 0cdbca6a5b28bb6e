"""Tasks of Django's Tasks for the tests, and what they did."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from taskq import Retry
from taskq.django.compat import TaskContext

from .decorator import task

ran: list[Any] = []
"""What ran, in order; tests empty it."""

let_go = threading.Event()


class OutOfStockError(Exception):
    """An exception of the project's own."""


@task
def add(a: int, b: int = 0) -> int:
    ran.append((a, b))
    return a + b


@task
async def add_async(a: int, b: int = 0) -> int:
    await asyncio.sleep(0)
    ran.append((a, b))
    return a + b


@task
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    return [args, kwargs]


@task
def annotated(at: OutOfStockError) -> str:
    """Its annotation would be of no use for a JSON value."""
    return type(at).__name__


@task
def fail(message: str = "no more apples") -> None:
    raise OutOfStockError(message)


@task
async def fail_async() -> None:
    raise OutOfStockError("no more apples")


@task
def fail_unserializable() -> object:
    return object()


@task
def fail_long() -> None:
    raise OutOfStockError("x" * 100_000)


@task(takes_context=True)
def attempts(context: TaskContext, fails: int) -> list[Any]:
    """Fails so often, then returns what its context says."""
    ran.append(context.attempt)
    if context.attempt <= fails:
        raise OutOfStockError(str(context.attempt))
    result = context.task_result
    return [context.attempt, result.id, str(result.status), [error.traceback[-3:] for error in result.errors]]


@task(takes_context=True)
async def attempts_async(context: TaskContext) -> int:
    return context.attempt


@task
def retry_soon() -> None:
    ran.append("retry")
    if len(ran) < 3:
        raise Retry(0)


@task
def hang() -> str:
    ran.append("began")
    let_go.wait(20)
    ran.append("ended")
    return "late"


@task
async def hang_async() -> None:
    ran.append("began")
    await asyncio.sleep(20)


@task
def use_database() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    ran.append(connection.connection)
    return int(connection.connection is not None)


@task
async def use_database_async() -> int:
    return await sync_to_async(use_database.func)()  # type: ignore[no-any-return]


def not_a_task(a: int) -> None:
    ran.append(a)
