"""What a store holds and who is connected to it, of one server and of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from queues.embedded import EmbeddedRedis
from queues.engine import (
    PumpBeat,
    StoreUnavailableError,
    beat,
    list_pumps,
    partition_load,
    publish,
    read_store_load,
)

from .loop import in_loop, opened
from .topologies import cluster


@pytest.fixture(scope="module")
def masters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[redis.Redis]]:
    with cluster(tmp_path_factory.mktemp("load")) as clients:
        yield clients


@in_loop
async def test_of_one_server(tmp_path: Path) -> None:
    """Of one that no other test has clients of."""
    with EmbeddedRedis(tmp_path, persistent=False) as server, redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory", 900_000_000)
        async with opened(server.url) as engine:
            before = await read_store_load(engine)
            await engine.run(publish(engine.queue("ns", "q"), [b"x" * 200_000] * 5))
            load = await read_store_load(engine)
        keys = client.dbsize()

    assert load.used_memory - before.used_memory > 900_000
    assert load.max_memory == 900_000_000
    assert load.keys == keys
    assert load.connected_clients >= 2
    assert load.blocked_clients == 0


@in_loop
async def test_of_a_cluster_the_sum_over_its_masters(masters: list[redis.Redis]) -> None:
    ports = [client.connection_pool.connection_kwargs["port"] for client in masters]
    async with opened("redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)) as engine:
        await engine.batch([publish(engine.queue("ns", f"q{number}"), [b"x"]) for number in range(20)])
        load = await read_store_load(engine)
        await engine.run(beat(PumpBeat(pump="p", up_ms=1, roles={})))
        pumps = await engine.run(list_pumps())
        parts = await engine.batch([partition_load(number) for number in range(engine.layout.partitions)])

    assert load.keys == sum(client.dbsize() for client in masters) - 1, "the beat came later"
    assert load.used_memory > max(client.info()["used_memory"] for client in masters)
    assert [one.pump for one in pumps] == ["p"]
    assert sum(part.queues for part in parts) == 20


@in_loop
async def test_a_store_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path, persistent=False) as server:
        async with opened(server.url) as engine:
            server.kill()

            with pytest.raises(StoreUnavailableError, match="info"):
                await read_store_load(engine)
