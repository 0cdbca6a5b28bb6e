"""The threads of a worker: every call runs, and none waits for another while a thread is free."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from taskq.worker.threads import ThreadPool

from .conftest import until

pytestmark = pytest.mark.anyio


@contextlib.contextmanager
def thread_pool(size: int, freed: list[int] | None = None) -> Iterator[ThreadPool]:
    pool = ThreadPool(size, lambda: None if freed is None else freed.append(1))
    try:
        yield pool
    finally:
        pool.close()


async def test_every_call_gets_its_own_result() -> None:
    with thread_pool(4) as pool:
        for _ in range(5):
            results = await asyncio.gather(*(pool.run(partial(str, number)) for number in range(500)))
            assert results == [str(number) for number in range(500)]


async def test_what_a_call_raises_is_raised() -> None:
    def end() -> None:
        raise StopIteration

    with thread_pool(1) as pool:
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await pool.run(end)
        with pytest.raises(SystemExit):
            await pool.run(sys.exit)
        assert await pool.run(lambda: "goes on") == "goes on"


async def test_as_many_calls_run_at_once_as_there_are_threads() -> None:
    barrier = threading.Barrier(5)
    with thread_pool(5) as pool:
        for _ in range(20):  # also with threads that are there already
            await asyncio.gather(*(pool.run(lambda: barrier.wait(10)) for _ in range(5)))


async def test_short_calls_go_on_beside_long_ones() -> None:
    release = threading.Event()
    with thread_pool(3) as pool:
        await asyncio.gather(*(pool.run(lambda: None) for _ in range(10)))
        long = [asyncio.create_task(pool.run(lambda: release.wait(10))) for _ in range(2)]
        short = [pool.run(partial(str, number)) for number in range(200)]
        assert await asyncio.gather(*short) == [str(number) for number in range(200)]
        assert not any(one.done() for one in long)
        release.set()
        assert await asyncio.gather(*long) == [True, True]


async def test_a_call_that_was_cancelled_before_it_began_never_runs() -> None:
    release, ran = threading.Event(), []
    with thread_pool(1) as pool:
        first = asyncio.create_task(pool.run(lambda: release.wait(10)))
        second = asyncio.create_task(pool.run(lambda: ran.append(2)))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert await first
        assert await pool.run(lambda: 3) == 3
    assert (ran, pool.abandoned) == ([], 0)


async def test_a_call_that_was_cancelled_while_it_ran_counts_until_it_ends() -> None:
    began, release, freed = threading.Event(), threading.Event(), list[int]()

    def wait() -> None:
        began.set()
        release.wait(10)

    with thread_pool(1, freed) as pool:
        running = asyncio.create_task(pool.run(wait))
        await until(began.is_set, or_fail="it did not begin")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (pool.abandoned, freed) == (1, [])
        release.set()
        await until(lambda: freed, or_fail="nobody was told")
        assert pool.abandoned == 0


async def test_closing_ends_the_threads() -> None:
    barrier = threading.Barrier(3)

    def meet() -> threading.Thread:
        barrier.wait(10)
        return threading.current_thread()

    with thread_pool(3) as pool:
        threads = await asyncio.gather(*(pool.run(meet) for _ in range(3)))
        assert len(set(threads)) == 3
    await until(lambda: not any(thread.is_alive() for thread in threads), or_fail="a thread goes on")
