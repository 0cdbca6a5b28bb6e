"""What tests of the asyncio engine share."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, ParamSpec

import pytest

from queues.engine import AsyncEngine, QueueKeys, open_async_engine

P = ParamSpec("P")

TEST_TIMEOUT_S = 30.0


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test in an event loop of its own, with an end."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), TEST_TIMEOUT_S))

    return run


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[AsyncEngine]:
    engine = await open_async_engine(url, **options)
    try:
        yield engine
    finally:
        await engine.close()


async def until(condition: Callable[[], object], *, or_fail: str, timeout_s: float = 30.0) -> None:
    """Give others a turn until `condition()` is true."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while not condition():
        if asyncio.get_running_loop().time() > deadline:
            pytest.fail(f"{or_fail} (not within {timeout_s:g} s)")
        await asyncio.sleep(0.002)


async def until_it_is_so(condition: Callable[[], Awaitable[object]], *, or_fail: str, timeout_s: float = 30.0) -> None:
    """The same for a condition that has to ask."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while not await condition():
        if asyncio.get_running_loop().time() > deadline:
            pytest.fail(f"{or_fail} (not within {timeout_s:g} s)")
        await asyncio.sleep(0.005)


def asleep(engine: AsyncEngine) -> int:
    """Waiters that have looked, found nothing, and sleep."""
    groups = engine._waiters._groups.all()
    return sum(not future.done() for group in groups for _, future in group.sleeping)


async def start_waiting(
    engine: AsyncEngine, queues: QueueKeys | list[QueueKeys], number: int = 1, **options: Any
) -> list[asyncio.Task[Any]]:
    """That many waiters, started one after the other; returns when all of them sleep."""
    named = [queues] if isinstance(queues, QueueKeys) else queues
    chosen: dict[str, Any] = {"ttr_ms": 60_000, "timeout_s": 20.0} | options
    before = asleep(engine)
    tasks = [asyncio.create_task(engine.wait_consume(named, **chosen)) for _ in range(number)]
    await until(lambda: asleep(engine) == before + number, or_fail="the waiters do not go to sleep")
    return tasks
