"""The largest queues of a pool are found with bounded work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import redis

from queues.engine import Engine, JobState, StoreUnavailableError, open_async_engine, open_engine, publish
from queues.services.pools import load as pool_load
from queues.services.pools.load import QueueRanking

STEP_EVERY_S = 15.0


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url, partitions=3)
    yield engine
    engine.close()


def fill(engine: Engine, **jobs: int) -> None:
    for name, number in jobs.items():
        engine.run(publish(engine.queue("ns", name), [b"x"] * number))


class Walk:
    """Steps of a ranking under a manual clock."""

    def __init__(self, redis_url: str, *, most: int) -> None:
        self.now = 0.0
        self.ranking = QueueRanking(most=most, step_every_s=STEP_EVERY_S, clock=lambda: self.now)
        self._url = redis_url

    def step(self, *, after_s: float = STEP_EVERY_S, closed: bool = False) -> None:
        """`closed`: with an engine that answers nothing."""
        self.now += after_s
        asyncio.run(self._step(closed))

    async def _step(self, closed: bool) -> None:
        engine = await open_async_engine(self._url)
        try:
            if closed:
                await engine.close()
            await self.ranking.step(engine)
        finally:
            await engine.close()

    @property
    def top(self) -> list[str]:
        return [queue.queue for queue in self.ranking.top]


def test_the_queues_with_the_most_jobs_come_first_and_the_rest_is_summed(engine: Engine, redis_url: str) -> None:
    fill(engine, a=3, b=1, c=5, d=2)
    walk = Walk(redis_url, most=2)
    walk.step()

    assert walk.top == ["c", "a"]
    assert walk.ranking.rest[JobState.READY] == 3


def test_between_steps_nothing_is_asked(engine: Engine, redis_url: str) -> None:
    fill(engine, a=1)
    walk = Walk(redis_url, most=2)
    walk.step()
    fill(engine, b=2)
    walk.step(after_s=STEP_EVERY_S - 1)
    assert walk.top == ["a"]

    walk.step(after_s=1)

    assert walk.top == ["b", "a"]


def test_a_queue_that_is_gone_leaves_the_ranking(engine: Engine, redis_url: str, redis_client: redis.Redis) -> None:
    fill(engine, a=1, b=2)
    walk = Walk(redis_url, most=2)
    walk.step()
    for key in redis_client.keys("*:queues"):
        redis_client.zrem(key, "ns/b")
    walk.step()

    assert walk.top == ["a"]


def test_many_queues_are_walked_in_stretches(
    engine: Engine, redis_url: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_load, "PAGE", 5)
    monkeypatch.setattr(pool_load, "QUEUES_PER_STEP", 10)
    fill(engine, **{f"q{number:03}": 1 for number in range(60)}, big=9)
    walk = Walk(redis_url, most=3)
    walk.step()
    assert walk.ranking.rest == {}, "no walk is over yet"
    redis_client.config_resetstat()

    walk.step()

    scripts = redis_client.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert scripts <= 10 + 5 + 2 * 3, "a page more than the stretch, and the lists of names"
    for _ in range(6):
        walk.step()
        assert len(set(walk.top)) == 3, "no queue is there twice"
    assert walk.top[0] == "big"
    assert walk.ranking.rest[JobState.READY] == 58


def test_a_step_that_fails_is_tried_again_at_once(engine: Engine, redis_url: str) -> None:
    fill(engine, a=1)
    walk = Walk(redis_url, most=2)
    with pytest.raises(StoreUnavailableError):
        walk.step(closed=True)

    walk.step(after_s=0)

    assert walk.top == ["a"]
