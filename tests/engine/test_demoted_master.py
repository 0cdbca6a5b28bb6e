"""A master that became a replica: its clients leave it, and find the new one under the old address."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from queues.engine import StoreUnavailableError, open_engine, publish, size
from tests.support.redis_servers import redis_binaries

from .loop import in_loop, opened
from .topologies import free_ports, server

SERVICE = "jobs"
CONNECTIONS = 3


def ask(client: Any, *command: object) -> Any:
    """redis-py leaves this without annotations."""
    return client.execute_command(*command)


@dataclass
class Pair:
    """Two servers; `url` leads to the first, after `swap()` to the second, with the first a replica."""

    url: str
    first: redis.Redis
    lead_to_second: Callable[[], object]

    def swap(self) -> None:
        ask(self.first, "REPLICAOF", "127.0.0.1", "1")
        self.lead_to_second()


@pytest.fixture(params=redis_binaries())
def binary(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(params=["plain", "sentinel"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, binary: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        ports = free_ports(3)
        sockets = [tmp_path / f"{number}.sock" for number in range(2)]
        first, second = (
            stack.enter_context(
                server(tmp_path / str(number), ports[number], f"unixsocket {sockets[number]}", binary=binary)
            )
            for number in range(2)
        )
        second.hset("taskq:meta", mapping={"layout": 1, "partitions": 3})
        if request.param == "plain":
            place = tmp_path / "redis.sock"
            place.symlink_to(sockets[0])

            def lead() -> None:
                place.unlink()
                place.symlink_to(sockets[1])

            yield Pair(f"unix://{place}", first, lead)
            return
        watch = f"sentinel monitor {SERVICE} 127.0.0.1 {ports[0]} 1"
        sentinel = stack.enter_context(server(tmp_path / "s", ports[2], watch, program=("--sentinel",), binary=binary))

        def name_second() -> None:
            ask(sentinel, "SENTINEL", "REMOVE", SERVICE)
            ask(sentinel, "SENTINEL", "MONITOR", SERVICE, "127.0.0.1", ports[1], 1)

        yield Pair(f"redis+sentinel://127.0.0.1:{ports[2]}/{SERVICE}", first, name_second)


def test_every_connection_to_it_is_given_up(pair: Pair) -> None:
    engine = open_engine(pair.url, partitions=3)
    queue = engine.queue("shop", "orders")
    pool = engine.client.connection_pool
    idle = [pool.get_connection() for _ in range(CONNECTIONS)]
    for connection in idle:
        pool.release(connection)
    assert engine.run(publish(queue, [b"old"])).job_ids
    pair.swap()

    with pytest.raises(StoreUnavailableError):
        engine.run(publish(queue, [b"refused"]))

    assert [engine.run(size(queue)) for _ in range(CONNECTIONS)] == [0] * CONNECTIONS
    assert engine.run(publish(queue, [b"new"])).job_ids
    engine.close()


@in_loop
async def test_from_asyncio_too(pair: Pair) -> None:
    async with opened(pair.url, partitions=3) as engine:
        queue = engine.queue("shop", "orders")
        pool = engine.client.connection_pool
        idle = await asyncio.gather(*[pool.get_connection() for _ in range(CONNECTIONS)])
        for connection in idle:
            await pool.release(connection)
        assert (await engine.run(publish(queue, [b"old"]))).job_ids
        pair.swap()

        with pytest.raises(StoreUnavailableError):
            await engine.run(publish(queue, [b"refused"]))

        assert [await engine.run(size(queue)) for _ in range(CONNECTIONS)] == [0] * CONNECTIONS
        assert (await engine.run(publish(queue, [b"new"]))).job_ids
