"""The memory for a pool's events: how much it is, and how partitions share it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
import redis

from queues.engine import (
    Engine,
    divide_events_memory,
    drain_state,
    lend_events_memory,
    open_async_engine,
    open_engine,
    partition_load,
    publish,
)
from queues.engine.constants import EVENTS_MEMORY_MB, EVENTS_MEMORY_MIN_MB, MEBIBYTE

SHARE = 20_000


@pytest.fixture
def bounded(redis_client: redis.Redis) -> Iterator[redis.Redis]:
    """A Redis whose `maxmemory` is put back afterwards."""
    yield redis_client
    redis_client.config_set("maxmemory", 0)


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url, partitions=4, events_memory=4 * SHARE)
    yield engine
    engine.close()


def fill(engine: Engine, *, most: int) -> tuple[int, int]:
    """Publish to one queue until its partition's events take `most` bytes, or do not grow. Its partition, and bytes."""
    queue = engine.queue("shop", "orders")
    held = -1
    while held < most:
        engine.run(publish(queue, [b"x"] * 8))
        before, held = held, engine.run(drain_state(queue.partition)).bytes
        if held <= before:
            break
    return queue.partition, held


async def cap_in_loop(url: str) -> int:
    engine = await open_async_engine(url)
    await engine.close()
    return engine.layout.events_cap


@pytest.mark.parametrize(
    ("maxmemory_mb", "expected_mb"), [(0, EVENTS_MEMORY_MB), (400, 100), (20, EVENTS_MEMORY_MIN_MB)]
)
def test_unless_somebody_set_it_the_memory_is_a_quarter_of_what_redis_may_use(
    bounded: redis.Redis, redis_url: str, maxmemory_mb: int, expected_mb: int
) -> None:
    bounded.config_set("maxmemory", maxmemory_mb * MEBIBYTE)
    engine, chosen = open_engine(redis_url), open_engine(redis_url, events_memory=64 * MEBIBYTE)
    in_loop = asyncio.run(cap_in_loop(redis_url))

    assert engine.layout.events_cap == in_loop == expected_mb * MEBIBYTE // 8
    assert chosen.layout.events_cap == 64 * MEBIBYTE // 8
    engine.close()
    chosen.close()


def test_a_partition_keeps_more_than_its_share_once_it_is_lent_some(engine: Engine) -> None:
    partition, held = fill(engine, most=SHARE * 3 // 4)
    engine.run(lend_events_memory(partition, 3 * SHARE))

    _, held = fill(engine, most=SHARE * 5 // 2)

    load = engine.run(partition_load(partition))
    assert (held >= SHARE * 5 // 2, load.events_dropped) == (True, 0)
    assert engine.run(drain_state(partition)).most == 3 * SHARE
    _, held = fill(engine, most=100 * SHARE)
    assert SHARE * 5 // 2 < held <= 3 * SHARE
    assert engine.run(partition_load(partition)).events_dropped > 0


def test_one_whose_share_is_lent_to_others_keeps_what_is_left_to_it(engine: Engine) -> None:
    engine.run(lend_events_memory(engine.queue("shop", "orders").partition, SHARE * 3 // 5))
    _, held = fill(engine, most=100 * SHARE)
    assert SHARE // 2 < held <= SHARE * 3 // 5

    engine.run(lend_events_memory(engine.queue("shop", "orders").partition, None))
    _, held = fill(engine, most=100 * SHARE)
    assert SHARE * 3 // 5 < held <= SHARE


def test_without_a_hot_partition_each_has_its_share() -> None:
    assert divide_events_memory([0, 10, SHARE // 4 - 1], share=SHARE) is None
    assert divide_events_memory([0, 0], share=0) is None


def test_one_hot_partition_gets_more_than_half_of_the_pools_memory() -> None:
    hot, *others = divide_events_memory([SHARE // 2, *[0] * 7], share=SHARE) or []
    assert hot > 4 * SHARE
    assert others == [SHARE // 2] * 7


def test_lending_never_exceeds_the_memory_and_takes_nothing_away_from_those_that_hold_it() -> None:
    random_held = random.Random(17)
    for _ in range(500):
        held = [0] * random_held.randint(1, 12)
        for turn in range(20):
            lent = divide_events_memory(held, share=SHARE) or [SHARE] * len(held)
            assert sum(lent) <= SHARE * len(held)
            assert all(most >= size for most, size in zip(lent, held, strict=True)), (turn, held, lent)
            held = [  # some fill what they were lent, others are drained
                random_held.choice((size, most, random_held.randint(0, most)))
                for size, most in zip(held, lent, strict=True)
            ]
