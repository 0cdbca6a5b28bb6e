"""Long work leaves most of a server's time to others, however many callers have some."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from queues.engine import (
    Engine,
    JobState,
    Layout,
    delete_dead,
    delete_jobs,
    destroy,
    free_deleted,
    reschedule,
    respawn,
)
from queues.engine.constants import BULK_MAX_JOBS
from queues.engine.operation import Paced
from queues.engine.transport.batch_queue import PAUSE_MAX_S, SHARE, AsyncPacer, Pacer
from tests.support.clock import ManualClock
from tests.support.rows import in_one_test

from .loop import in_loop, opened
from .test_ack import UNKNOWN

QUEUE = Layout(1).queue("shop", "orders")
LONG_WORK: dict[str, Callable[[], Any]] = {
    "delete dead letters": lambda: delete_dead(QUEUE, limit=200_000),
    "delete dead letters by id": lambda: delete_dead(QUEUE, ids=[UNKNOWN] * BULK_MAX_JOBS),
    "delete jobs": lambda: delete_jobs(QUEUE, [UNKNOWN] * BULK_MAX_JOBS, only=JobState.DELAYED),
    "respawn": lambda: respawn(QUEUE, limit=200_000, ttl_ms=0),
    "reschedule": lambda: reschedule(QUEUE, [UNKNOWN] * BULK_MAX_JOBS),
    "delete ready jobs": lambda: destroy(QUEUE),
}


def advance(clock: ManualClock, seconds: float) -> Callable[[], None]:
    return lambda: clock.advance(seconds)


def test_steps_have_their_share_of_the_time() -> None:
    clock = ManualClock()
    pacer = Pacer(clock=clock, sleep=clock.advance)
    began = clock.now

    for _ in range(100):
        pacer.run(advance(clock, 0.005))

    assert clock.now - began == pytest.approx(100 * 0.005 / SHARE, rel=0.02)


def test_the_first_step_and_one_after_a_while_do_not_wait() -> None:
    clock = ManualClock()
    slept: list[float] = []
    pacer = Pacer(clock=clock, sleep=slept.append)

    pacer.run(advance(clock, 0.005))
    clock.advance(0.1)
    pacer.run(advance(clock, 0.005))

    assert slept == []


def test_a_pause_after_a_step_that_took_long_or_failed_is_bounded_and_made() -> None:
    clock = ManualClock()
    slept: list[float] = []
    pacer = Pacer(clock=clock, sleep=slept.append)

    def fail_late() -> None:
        clock.advance(30)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        pacer.run(fail_late)
    pacer.run(lambda: None)

    assert slept == [pytest.approx(PAUSE_MAX_S)]


def test_callers_in_many_threads_share_the_time_of_one() -> None:
    clock, running, most = ManualClock(), [], []
    pacer = Pacer(clock=clock, sleep=clock.advance)
    began = clock.now

    def step() -> None:
        running.append(1)
        most.append(len(running))
        clock.advance(0.005)
        running.pop()

    threads = [threading.Thread(target=lambda: [pacer.run(step) for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert max(most) == 1
    assert clock.now - began == pytest.approx(100 * 0.005 / SHARE, rel=0.02)


@in_loop
async def test_callers_in_a_loop_take_turns_and_one_that_is_cancelled_leaves_its_turn() -> None:
    pacer, seen = AsyncPacer(), []
    holding = asyncio.Event()

    async def step(name: str) -> None:
        seen.append(name)
        await asyncio.sleep(0)

    async def hold() -> None:
        seen.append("first")
        await holding.wait()

    tasks = [asyncio.create_task(pacer.run(hold))]
    tasks += [asyncio.create_task(pacer.run(partial(step, name))) for name in ("gone", "second", "third")]
    await asyncio.sleep(0)
    tasks[1].cancel()
    holding.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert seen == ["first", "second", "third"]


@in_one_test("work", LONG_WORK.values())
def test_long_work_is_done_in_paced_steps(work: Callable[[], Any]) -> None:
    batch = next(work())

    assert isinstance(batch, Paced)
    assert [operation.alone for operation in batch] == [True]


def test_short_work_is_not_paced(engine: Engine) -> None:
    """A client that deletes one dead letter waits for nobody's pauses."""
    assert not isinstance(next(delete_dead(QUEUE, limit=1)), Paced)
    assert not isinstance(next(respawn(QUEUE, ids=[UNKNOWN], ttl_ms=0)), Paced)


class CountingPacer:
    """Counts the steps and makes no pauses."""

    def __init__(self) -> None:
        self.steps = 0

    def run(self, step: Callable[[], Any]) -> Any:
        self.steps += 1
        return step()


@in_loop
async def _async_steps(url: str, counter: CountingPacer) -> None:
    async with opened(url) as engine:
        engine._pacer = counter  # type: ignore[assignment]
        await engine.run(respawn(engine.queue("shop", "orders"), limit=200_000, ttl_ms=0))


def test_both_engines_pace(engine: Engine, redis_url: str) -> None:
    engine.run(destroy(engine.queue("shop", "orders"), everything=True))
    counter = CountingPacer()
    engine._pacer = counter  # type: ignore[assignment]
    engine.run(free_deleted(engine.layout))
    assert counter.steps == 0  # nothing is to be freed
    engine.run(delete_dead(engine.queue("shop", "orders"), limit=200_000))
    assert counter.steps == 1

    _async_steps(redis_url, counter)

    assert counter.steps == 2
