"""Thousands of waiters: what they cost, who is served, and that each line still looks now and then."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter

import pytest

from queues.engine import AsyncEngine, Engine, QueueKeys, constants, publish
from queues.engine.waiting import waiter_groups
from queues.engine.waiting.waiter_groups import ALONE_JOBS, WaiterGroup, Wake

from .loop import asleep, in_loop, opened, until
from .state import check
from .test_waiting import deafen, only_messages

__all__ = ["only_messages"]

MANY = 2_000


def queues_of(engine: AsyncEngine, number: int) -> list[QueueKeys]:
    return [engine.queue("shop", f"q{number}") for number in range(number)]


async def wait_on_each(engine: AsyncEngine, queues: list[QueueKeys], timeout_s: float = 25.0) -> list[asyncio.Task]:  # type: ignore[type-arg]
    tasks = [asyncio.create_task(engine.wait_consume([queue], ttr_ms=1_000, timeout_s=timeout_s)) for queue in queues]
    await until(lambda: asleep(engine) == len(queues), or_fail="they do not go to sleep")
    return tasks


@in_loop
async def test_many_lines_take_turns_to_look(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "LOOKS_PER_S", 100)
    async with opened(redis_url) as engine:
        started = time.monotonic()
        tasks = await wait_on_each(engine, queues_of(engine, 1_000))
        looked: Counter[object] = Counter()
        poll = engine._waiters._attempt

        async def count(queues, *rest):  # type: ignore[no-untyped-def]
            looked[queues[0].name] += 1
            return await poll(queues, *rest)

        monkeypatch.setattr(engine._waiters, "_attempt", count)
        await until(lambda: len(looked) >= 150, or_fail="nobody looks")

        assert sum(looked.values()) <= 100 * (time.monotonic() - started) + 20
        assert max(looked.values()) <= 1 + (time.monotonic() - started) / constants.FALLBACK_POLL_S
        for task in tasks:
            task.cancel()


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_every_line_looks_once_the_subscription_is_back(
    engine: Engine, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "LOOKS_PER_S", 2_000)
    async with opened(redis_url) as waiter:
        queues = queues_of(waiter, 300)
        tasks = await wait_on_each(waiter, queues)
        deafen(waiter, monkeypatch)
        for queue in queues:
            engine.run(publish(queue, [b"x"]))
        (connection,) = engine.client.client_list(_type="pubsub")
        engine.client.client_kill_filter(_id=connection["id"])

        assert {len(found.jobs) for found in await asyncio.gather(*tasks)} == {1}


@in_loop
async def test_a_mark_outlives_the_time_until_the_next_look(engine: Engine, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        tasks = await wait_on_each(waiter, queues_of(waiter, MANY))
        await until(
            lambda: waiter._waiters._fallback_polls.every_s == MANY / constants.LOOKS_PER_S, or_fail="too many look"
        )
        seconds, microseconds = engine.client.time()
        now_ms = seconds * 1000 + microseconds // 1000
        content = check(engine.client)
        marks: dict[str, int] = {}
        for partition in range(engine.layout.partitions):
            marks |= content.partition(partition).waiting
        loop_now = waiter._loop.time()
        for group in waiter._waiters._groups.all():
            assert (marks[group.names[0].decode()] - now_ms) / 1000 > group.poll_at - loop_now
        for task in tasks:
            task.cancel()


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_thousands_whose_time_is_up_at_once_leave_at_once(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        tasks = await wait_on_each(engine, [queue] * MANY, timeout_s=3.0)
        found = await asyncio.gather(*tasks)

        assert {consumed.jobs for consumed in found} == {()}
        assert (len(engine._waiters._groups), engine.waiting) == (0, 0)


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_thousands_are_let_go_at_once(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        half = MANY // 2
        tasks = await wait_on_each(engine, [engine.queue("shop", "orders")] * half + queues_of(engine, half))
        started = time.monotonic()
        await engine.stop_waiting()
        found = await asyncio.gather(*tasks)

        assert time.monotonic() - started < 2.0
        assert {consumed.jobs for consumed in found} == {()}


@in_loop
async def test_who_leaves_a_long_line_does_not_go_through_it() -> None:
    group = WaiterGroup((b"shop/orders",))
    loop = asyncio.get_running_loop()
    sleepers: list[asyncio.Future[Wake]] = [loop.create_future() for _ in range(20_000)]
    for arrival, future in enumerate(sleepers):
        group.add_sleeper(arrival, future)
    started = time.monotonic()
    for future in sleepers[1:]:
        future.set_result(Wake.TIMEOUT)
        group.remove_sleeper()

    assert time.monotonic() - started < 1.0
    assert group.first() == 0
    assert len(group.sleeping) <= 2
    assert group.wake(Wake.POLL)
    assert not group.wake(Wake.POLL)


class Process:
    """An engine on an event loop in a thread of its own, with waiters that wait again once served."""

    def __init__(self, url: str, waiters: int, served: list[tuple[int, int]], number: int) -> None:
        self._url, self._waiters, self._served, self._number = url, waiters, served, number
        self.asleep = threading.Event()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.thread.start()

    async def _run(self) -> None:
        async with opened(self._url) as engine:
            queue = engine.queue("shop", "orders")
            tasks = [asyncio.create_task(self._wait(engine, queue, waiter)) for waiter in range(self._waiters)]
            await until(lambda: asleep(engine) == self._waiters, or_fail="they do not go to sleep")
            self.asleep.set()
            await until(self.stopping.is_set, or_fail="nobody stops it", timeout_s=120.0)
            await engine.stop_waiting()
            await asyncio.gather(*tasks)

    async def _wait(self, engine: AsyncEngine, queue: QueueKeys, waiter: int) -> None:
        while (await engine.wait_consume([queue], ttr_ms=60_000, timeout_s=60)).jobs:
            self._served.append((self._number, waiter))


def test_of_two_processes_no_waiter_starves(engine: Engine, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiter_groups, "COUNT_EVERY_S", 0.0)
    served: list[tuple[int, int]] = []
    processes = [Process(redis_url, 4, served, number) for number in range(2)]
    try:
        for process in processes:
            assert process.asleep.wait(30)
        queue = engine.queue("shop", "orders")
        for number in range(200):
            engine.run(publish(queue, [b"x"]))
            deadline = time.monotonic() + 5
            while len(served) <= number:
                assert time.monotonic() < deadline, "a job waits though waiters do"
                time.sleep(0.0005)
    finally:
        for process in processes:
            process.stopping.set()
        for process in processes:
            process.thread.join(20)

    for number in range(2):  # which of them wins more says how busy the machine is
        won = [waiter for its, waiter in served if its == number]
        longest_wait = {waiter: _longest_wait(won, waiter) for waiter in range(4)}
        assert max(longest_wait.values()) <= 40, f"one waiter saw so many of {len(won)} go to others: {longest_wait}"
    shares = Counter(served)
    assert all(shares[number, waiter] >= 3 for number in range(2) for waiter in range(4)), shares


def _longest_wait(won: list[int], waiter: int) -> int:
    """The most jobs that went to others between two that went to it."""
    places = [-1, *[place for place, who in enumerate(won) if who == waiter], len(won)]
    return max(after - before for before, after in itertools.pairwise(places))


def test_who_won_steps_back_until_it_turns_out_that_nobody_else_waits() -> None:
    group = WaiterGroup((b"shop/orders",))
    assert not group.should_yield()

    group.record_won(yielded=False)
    assert group.should_yield()
    group.record_lost()
    assert not group.should_yield()

    group.record_won(yielded=True)
    assert [group.should_yield() for _ in range(ALONE_JOBS + 1)] == [False] * ALONE_JOBS + [True]
