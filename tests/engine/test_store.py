"""Opening and probing a store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import redis

from queues.embedded import EmbeddedRedis
from queues.engine import (
    InvalidArgumentError,
    LayoutError,
    StoreUnavailableError,
    open_async_engine,
    open_engine,
    probe_store,
    publish,
    size,
)
from queues.engine.constants import PARTITIONS_DEFAULT
from queues.engine.keys import META_KEY
from tests.support.redis_servers import version_of


def test_a_new_store_is_given_its_partitions_for_ever(redis_url: str) -> None:
    assert open_engine(redis_url, partitions=5).layout.partitions == 5
    assert open_engine(redis_url).layout.partitions == 5
    with pytest.raises(LayoutError, match="has 5 partitions, not 6"):
        open_engine(redis_url, partitions=6)


def test_a_new_store_has_the_default_number_of_partitions(redis_url: str, redis_client: redis.Redis) -> None:
    assert open_engine(redis_url).layout.partitions == PARTITIONS_DEFAULT
    assert redis_client.hgetall(META_KEY) == {b"partitions": b"%d" % PARTITIONS_DEFAULT, b"layout": b"1"}


def test_asyncio_opens_the_same_store(redis_url: str) -> None:
    async def partitions() -> int:
        engine = await open_async_engine(redis_url, partitions=3)
        await engine.close()
        return engine.layout.partitions

    assert asyncio.run(partitions()) == 3
    assert open_engine(redis_url).layout.partitions == 3


def test_one_cancellation_ends_the_opening_whenever_it_comes(redis_url: str) -> None:
    """As at the end of a loop, which cancels once and waits: redis-py takes some for a timeout while it connects."""

    async def cancel_after(turns: int) -> bool:
        opening = asyncio.create_task(open_async_engine(redis_url))
        for _ in range(turns):
            await asyncio.sleep(0)
        was_done = opening.done()
        opening.cancel()
        await asyncio.wait([opening])
        if was_done:
            await opening.result().close()
        return was_done or opening.cancelled()

    for turns in range(40):
        assert asyncio.run(cancel_after(turns)), f"after {turns} turns"


def test_a_store_that_was_half_made_is_completed(redis_url: str, redis_client: redis.Redis) -> None:
    redis_client.hset(META_KEY, "partitions", 2)

    assert open_engine(redis_url).layout.partitions == 2
    assert redis_client.hget(META_KEY, "layout") == b"1"


def test_a_store_of_another_layout_is_refused(redis_url: str, redis_client: redis.Redis) -> None:
    redis_client.hset(META_KEY, mapping={"partitions": 2, "layout": 2})

    with pytest.raises(LayoutError, match="layout version 2"):
        open_engine(redis_url)
    with pytest.raises(LayoutError, match="layout version 2"):
        asyncio.run(open_async_engine(redis_url))


@pytest.mark.parametrize("partitions", [0, -1, 257])
def test_a_number_of_partitions_out_of_range_is_refused(redis_url: str, partitions: int) -> None:
    with pytest.raises(InvalidArgumentError, match="partitions"):
        open_engine(redis_url, partitions=partitions)


def test_a_store_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    url = f"unix://{tmp_path}/nobody.sock"

    with pytest.raises(StoreUnavailableError):
        open_engine(url)
    with pytest.raises(StoreUnavailableError):
        asyncio.run(open_async_engine(url))
    info = probe_store(url)
    assert (info.reachable, info.jobs) == (False, None)
    assert info.error


def test_a_store_that_went_away_is_unavailable_and_comes_back(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        engine = open_engine(server.url)
        queue = engine.queue("shop", "orders")
        engine.run(publish(queue, [b"kept"]))
        server.kill()
        for work in (lambda: engine.run(size(queue)), lambda: engine.batch([size(queue), size(queue)])):
            with pytest.raises(StoreUnavailableError):
                work()
        server.start()
        assert engine.run(size(queue)) == 1
        engine.close()


def test_a_probe_tells_how_the_store_is_doing(redis_url: str, redis_client: redis.Redis) -> None:
    engine = open_engine(redis_url, partitions=2)
    for number in range(4):
        engine.run(publish(engine.queue("shop", f"q{number}"), [b"x", b"y"]))

    info = probe_store(redis_url)

    assert (info.reachable, info.error, info.mode, info.aof) == (True, "", "standalone", False)
    assert (info.jobs, info.partitions, info.layout_version) == (8, 2, 1)
    assert (info.eviction_policy, info.max_memory) == ("noeviction", 0)
    assert info.version == version_of(redis_client)
    assert info.used_memory is not None
    assert info.used_memory > 0
    assert info.latency_ms is not None
    assert 0 < info.latency_ms < 2_000


def test_a_probe_writes_nothing(redis_url: str, redis_client: redis.Redis) -> None:
    info = probe_store(redis_url)

    assert (info.reachable, info.jobs, info.partitions, info.layout_version) == (True, None, None, None)
    assert redis_client.dbsize() == 0


def test_a_probe_of_what_is_no_url_says_so() -> None:
    info = probe_store("gopher://h")

    assert not info.reachable
    assert "pool URL must begin with" in info.error
