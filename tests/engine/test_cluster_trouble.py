"""A Redis Cluster of which a part is away or has moved: what lies on the other nodes goes on as if nothing were."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from queues.engine import (
    AsyncEngine,
    Engine,
    PublishOptions,
    QueueKeys,
    StoreUnavailableError,
    open_engine,
    promote_due,
    publish,
    size,
)
from queues.engine.operation import Apart
from tests.support.waiting import wait_until

from .loop import in_loop, opened, until_it_is_so
from .topologies import cluster, free_ports
from .world import START_MS

PARTITIONS = 12


class Broken:
    """A cluster, and what a test does to it."""

    def __init__(self, masters: list[redis.Redis]) -> None:
        self.masters = masters
        self.ports = [client.connection_pool.connection_kwargs["port"] for client in masters]
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.names = [ask(client, "CLUSTER", "MYID") for client in masters]
        self.pids = [int(client.info("server")["process_id"]) for client in masters]
        for client in masters:
            client.config_set("cluster-require-full-coverage", "no")

    def queues(self, engine: Engine | AsyncEngine) -> list[list[QueueKeys]]:
        """One queue of each partition, by the master it lies on."""
        found: dict[int, QueueKeys] = {}
        for number in range(200):
            queue = engine.queue("shop", f"q{number}")
            found.setdefault(queue.partition, queue)
        owned: list[list[QueueKeys]] = [[] for _ in self.masters]
        for queue in found.values():
            owned[self.owner(queue)].append(queue)
        assert len(found) == PARTITIONS
        assert all(owned)
        return owned

    def owner(self, queue: QueueKeys) -> int:
        slot = self.slot(queue)
        return next(i for i in range(len(self.masters)) if slot < (i + 1) * 16_384 // len(self.masters))

    def slot(self, queue: QueueKeys) -> int:
        return int(ask(self.masters[-1], "CLUSTER", "KEYSLOT", queue.select(("jobs",))[0]))

    def signal(self, number: int, what: signal.Signals) -> None:
        os.kill(self.pids[number], what)

    def kill(self, number: int) -> None:
        self.signal(number, signal.SIGKILL)
        wait_until(lambda: refuses(self.ports[number]), or_fail="it does not die")

    def give(self, queue: QueueKeys, to: int, *, alive: tuple[int, ...] = (0, 1, 2)) -> None:
        """Let another master serve the (empty) slot of a queue."""
        slot = self.slot(queue)
        # One that imports a slot claims it in a new epoch. Else news on their way could take it away again.
        ask(self.masters[to], "CLUSTER", "SETSLOT", slot, "IMPORTING", self.names[self.owner(queue)])
        for number in sorted(alive, key=lambda number: number != to):
            ask(self.masters[number], "CLUSTER", "SETSLOT", slot, "NODE", self.names[to])


def refuses(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) != 0


def ask(client: Any, *command: object) -> Any:
    """redis-py leaves this without annotations."""
    return client.execute_command(*command)


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Broken]:
    with cluster(tmp_path) as masters:
        broken = Broken(masters)
        yield broken
        for number in range(len(masters)):
            try:
                broken.signal(number, signal.SIGCONT)
            except ProcessLookupError:
                continue


def outcomes(results: list[Any]) -> list[bool]:
    """For each result whether it is one; what is none must say that the store is away."""
    assert all(isinstance(result, StoreUnavailableError) for result in results if isinstance(result, Exception))
    return [not isinstance(result, Exception) for result in results]


@in_loop
async def test_calls_of_one_turn_fail_only_where_their_node_is_dead(broken: Broken) -> None:
    async with opened(broken.url, partitions=PARTITIONS) as engine:
        dead, *healthy = broken.queues(engine)
        alive = [queue for queues in healthy for queue in queues]
        broken.kill(0)

        for _ in range(2):  # the scripts have to be loaded first, then not
            calls = [engine.run(publish(queue, [b"x"])) for queue in [*dead, *alive]]
            done = outcomes(await asyncio.gather(*calls, return_exceptions=True))
            assert done == [False] * len(dead) + [True] * len(alive)
        assert await engine.batch([size(queue) for queue in alive]) == [2] * len(alive)


def test_a_synchronous_batch_runs_where_its_nodes_are_well(broken: Broken) -> None:
    engine = open_engine(broken.url, partitions=PARTITIONS)
    dead, *healthy = broken.queues(engine)
    alive = [queue for queues in healthy for queue in queues]
    broken.kill(0)

    results = engine.batch(Apart(publish(queue, [b"x"]) for queue in [*dead, *alive]))
    with pytest.raises(StoreUnavailableError):
        engine.batch([publish(queue, [b"x"]) for queue in [*dead, *alive]])

    assert outcomes(results) == [False] * len(dead) + [True] * len(alive)
    assert engine.batch([size(queue) for queue in alive]) == [2] * len(alive)
    engine.close()


@in_loop
async def test_a_node_that_hangs_holds_up_nobody_else(broken: Broken) -> None:
    async with opened(broken.url, partitions=PARTITIONS) as engine:
        hanging, *healthy = broken.queues(engine)
        alive = [queue for queues in healthy for queue in queues]
        broken.signal(0, signal.SIGSTOP)

        # One call a turn, so that the calls to the hanging node are more than may be under way at once.
        stuck = []
        for _ in range(9):
            stuck += [asyncio.create_task(engine.run(size(queue))) for queue in hanging]
            await asyncio.sleep(0)
        assert await asyncio.gather(*[engine.run(size(queue)) for queue in alive]) == [0] * len(alive)
        assert not any(task.done() for task in stuck)

        broken.signal(0, signal.SIGCONT)
        assert await asyncio.gather(*stuck) == [0] * len(stuck)


def test_the_background_goes_on_where_the_nodes_are_well(broken: Broken) -> None:
    engine = open_engine(broken.url, partitions=PARTITIONS)
    dead, *healthy = broken.queues(engine)
    alive = [queue for queues in healthy for queue in queues]
    for queue in [*dead, *alive]:
        engine.run(publish(queue, [b"x"], PublishOptions(delay_ms=1_000), now_ms=START_MS))
    broken.kill(0)

    with pytest.raises(StoreUnavailableError):
        engine.run(promote_due(engine.layout, now_ms=START_MS + 1_000))

    assert engine.batch([size(queue) for queue in alive]) == [1] * len(alive)
    engine.close()


def test_a_slot_that_has_moved_is_followed(broken: Broken) -> None:
    engine = open_engine(broken.url, partitions=PARTITIONS)
    (first, *_), _, (last, *_) = broken.queues(engine)
    broken.give(first, 1)
    assert engine.run(publish(first, [b"x"])).job_ids
    broken.give(last, 0)

    assert [len(made.job_ids) for made in engine.batch([publish(queue, [b"x"]) for queue in (first, last)])] == [1, 1]
    assert engine.batch([size(first), size(last)]) == [2, 1]
    engine.close()


@in_loop
async def test_a_slot_that_has_moved_is_followed_from_asyncio(broken: Broken) -> None:
    async with opened(broken.url, partitions=PARTITIONS) as engine:
        (first, *_), _, (last, *_) = broken.queues(engine)
        broken.give(first, 1)
        broken.give(last, 0)

        await asyncio.gather(*[engine.run(publish(queue, [b"x"])) for queue in (first, last)])

        assert await engine.batch([size(first), size(last)]) == [1, 1]


def test_a_slot_that_is_just_moving_is_unavailable(broken: Broken) -> None:
    engine = open_engine(broken.url, partitions=PARTITIONS)
    (queue, *_), *_ = broken.queues(engine)
    ask(broken.masters[0], "CLUSTER", "SETSLOT", broken.slot(queue), "MIGRATING", broken.names[1])

    with pytest.raises(StoreUnavailableError):
        engine.run(publish(queue, [b"x"]))

    ask(broken.masters[0], "CLUSTER", "SETSLOT", broken.slot(queue), "STABLE")
    assert engine.run(publish(queue, [b"x"])).job_ids
    engine.close()


def test_who_takes_over_from_a_dead_node_is_found(broken: Broken) -> None:
    engine = open_engine(broken.url, partitions=PARTITIONS)
    (queue, *_), *_ = broken.queues(engine)
    broken.kill(0)
    broken.give(queue, 1, alive=(1, 2))

    with pytest.raises(StoreUnavailableError):
        engine.run(publish(queue, [b"refused"]))

    assert engine.run(publish(queue, [b"x"])).job_ids
    engine.close()


@in_loop
async def test_who_takes_over_from_a_dead_node_is_found_from_asyncio(broken: Broken) -> None:
    async with opened(broken.url, partitions=PARTITIONS) as engine:
        (queue, *_), *_ = broken.queues(engine)
        broken.kill(0)
        broken.give(queue, 1, alive=(1, 2))

        with pytest.raises(StoreUnavailableError):
            await engine.run(size(queue))

        async def is_found() -> bool:
            try:
                return await engine.run(size(queue)) == 0
            except StoreUnavailableError:
                return False

        await until_it_is_so(is_found, or_fail="the new node is not found")


def test_a_cluster_that_is_all_away_is_unavailable_when_it_is_opened() -> None:
    first, second = free_ports(2)

    with pytest.raises(StoreUnavailableError):
        open_engine(f"redis+cluster://127.0.0.1:{first},127.0.0.1:{second}")
