"""A pool with `min_replicas`: a publish has succeeded once replicas have it, and nothing else waits for them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from queues.engine import (
    Engine,
    InvalidArgumentError,
    LimitReachedError,
    NotReplicatedError,
    PublishOptions,
    RequestLimit,
    consume,
    limited,
    open_engine,
    probe_store,
    publish,
    republish,
    size,
)

from .loop import in_loop, opened, until
from .test_demoted_master import ask
from .topologies import cluster, free_ports, replicated, server

SERVICE = "jobs"
SHORT: dict[str, Any] = {"min_replicas": 1, "replication_timeout_s": 0.05}
LONG: dict[str, Any] = {"min_replicas": 1, "replication_timeout_s": 4.0}
LIMIT = RequestLimit(token_id="t", kind="write", allowance=1, interval_ms=9_000)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[redis.Redis, redis.Redis]]:
    with replicated(tmp_path_factory.mktemp("replicated")) as found:
        yield found


@pytest.fixture
def master(servers: tuple[redis.Redis, redis.Redis]) -> redis.Redis:
    servers[0].flushall()
    return servers[0]


@pytest.fixture
def replica(servers: tuple[redis.Redis, redis.Redis]) -> redis.Redis:
    return servers[1]


@pytest.fixture
def url(master: redis.Redis) -> str:
    return f"redis://127.0.0.1:{port_of(master)}"


def port_of(client: redis.Redis) -> int:
    return int(client.connection_pool.connection_kwargs["port"])


@contextmanager
def stopped(server: redis.Redis) -> Iterator[None]:
    """It has connections and says nothing."""
    pid = int(server.info("server")["process_id"])
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def ids_in(server: redis.Redis, engine: Engine | Any, queue: str = "orders") -> set[str]:
    (jobs,) = engine.queue("shop", queue).select(("jobs",))
    return {str(job_id, "ascii") for job_id in ask(server, "HKEYS", jobs)}


def test_what_was_published_is_on_the_replica(url: str, replica: redis.Redis) -> None:
    engine = open_engine(url, **LONG)
    queue = engine.queue("shop", "orders")
    (one,) = engine.run(publish(queue, [b"1"])).job_ids
    assert ids_in(replica, engine) == {one}

    (other,) = engine.run(republish(queue, one, b"2")).job_ids

    assert ids_in(replica, engine) == {other}
    assert engine.batch([publish(queue, [b"3"]), size(queue)])[1] == 2
    engine.close()


@in_loop
async def test_from_asyncio_too(url: str, replica: redis.Redis) -> None:
    async with opened(url, **LONG) as engine:
        queue = engine.queue("shop", "orders")

        done = await asyncio.gather(*[engine.run(publish(queue, [b"x"])) for _ in range(50)])

        assert ids_in(replica, engine) == {job_id for published in done for job_id in published.job_ids}


def test_without_a_replica_a_publish_says_which_jobs_it_wrote(
    url: str, master: redis.Redis, replica: redis.Redis
) -> None:
    engine = open_engine(url, **SHORT)
    queue = engine.queue("shop", "orders")
    key = PublishOptions(key="order-7")
    with stopped(replica):
        with pytest.raises(NotReplicatedError) as bulk:
            engine.run(publish(queue, [b"1", b"2"]))
        with pytest.raises(NotReplicatedError) as keyed:
            engine.run(publish(queue, [b"3"], key))
        with pytest.raises(NotReplicatedError) as again:
            engine.run(publish(queue, [b"3"], key))
        with pytest.raises(InvalidArgumentError):
            engine.run(publish(queue, [b"refused"], PublishOptions(ttl_ms=1, delay_ms=2)))
        assert engine.run(size(queue)) == 3

    assert again.value.job_ids == keyed.value.job_ids
    assert ids_in(master, engine) == {*bulk.value.job_ids, *keyed.value.job_ids}
    assert engine.run(publish(queue, [b"3"], key)).duplicate
    engine.close()


@in_loop
async def test_calls_that_share_a_script_call_are_told_apart(url: str, replica: redis.Redis) -> None:
    async with opened(url, **SHORT) as engine:
        queue = engine.queue("shop", "orders")
        with stopped(replica):
            found = await asyncio.gather(
                *[engine.run(limited(publish(queue, [b"x"]), LIMIT)) for _ in range(2)],
                *[engine.run(publish(queue, [b"y"])) for _ in range(2)],
                return_exceptions=True,
            )

        written = [error.job_ids for error in found if isinstance(error, NotReplicatedError)]
        assert [type(error) for error in found] == [NotReplicatedError, LimitReachedError, *[NotReplicatedError] * 2]
        assert len({job_id for job_ids in written for job_id in job_ids}) == await engine.run(size(queue)) == 3


@in_loop
async def test_all_that_come_together_wait_once_and_nobody_else_does(
    url: str, master: redis.Redis, replica: redis.Redis
) -> None:
    async with opened(url, **LONG) as engine:
        queue, other = engine.queue("shop", "orders"), engine.queue("shop", "others")
        await engine.run(publish(other, [b"x"]))
        master.config_resetstat()
        with stopped(replica):
            publishes = [asyncio.create_task(engine.run(publish(queue, [b"x"]))) for _ in range(100)]
            await until(lambda: master.info("clients")["blocked_clients"] == 1, or_fail="nobody waits")

            assert (await engine.run(consume(other, ttr_ms=1_000))).jobs
            assert await engine.run(size(queue)) == 100

            assert not any(task.done() for task in publishes)
        await asyncio.gather(*publishes)

    assert master.info("commandstats")["cmdstat_wait"]["calls"] == 1


@in_loop
async def test_calls_that_travel_alone_wait_side_by_side(url: str, master: redis.Redis, replica: redis.Redis) -> None:
    async with opened(url, **LONG) as engine:
        queue = engine.queue("shop", "orders")
        with stopped(replica):
            bulks = [asyncio.create_task(engine.run(publish(queue, [b"x"] * 50))) for _ in range(8)]
            await until(lambda: master.info("clients")["blocked_clients"] == 8, or_fail="they wait for each other")
        await asyncio.gather(*bulks)


@in_loop
async def test_scripts_that_the_master_has_forgotten_are_confirmed_too(
    url: str, master: redis.Redis, replica: redis.Redis
) -> None:
    async with opened(url, **SHORT) as engine:
        queue = engine.queue("shop", "orders")
        master.script_flush()
        assert (await engine.run(publish(queue, [b"x"]))).job_ids
        master.script_flush()
        with stopped(replica), pytest.raises(NotReplicatedError):
            await engine.run(publish(queue, [b"x"]))


def test_a_duplicate_advances_the_stream_that_its_confirmation_waits_for(url: str, master: redis.Redis) -> None:
    """Since Redis 7 a WAIT covers a connection's last write only, and the job was written over another one."""
    engine = open_engine(url)
    queue = engine.queue("shop", "orders")
    engine.run(publish(queue, [b"x"], PublishOptions(key="order-7")))
    offset = master.info("replication")["master_repl_offset"]

    assert engine.run(publish(queue, [b"x"], PublishOptions(key="order-7"))).duplicate

    assert master.info("replication")["master_repl_offset"] > offset
    assert master.ttl(queue.select(("keys",))[0]) == -1
    engine.close()


def test_a_pool_without_the_option_waits_for_nobody(url: str, master: redis.Redis, replica: redis.Redis) -> None:
    engine = open_engine(url)
    master.config_resetstat()
    with stopped(replica):
        assert engine.run(publish(engine.queue("shop", "orders"), [b"x"])).job_ids

    assert "cmdstat_wait" not in master.info("commandstats")
    engine.close()


@dataclass
class Abandoned:
    url: str
    new: redis.Redis
    lead_to_new: Callable[[], None]


@pytest.fixture
def abandoned(tmp_path: Path) -> Iterator[Abandoned]:
    """The sentinel names a master without replicas; `lead_to_new` makes it name another one."""
    ports = free_ports(3)
    watch = f"sentinel monitor {SERVICE} 127.0.0.1 {ports[0]} 1"
    with (
        server(tmp_path / "old", ports[0]),
        server(tmp_path / "new", ports[1]) as new,
        server(tmp_path / "sentinel", ports[2], watch, program=("--sentinel",)) as sentinel,
    ):
        new.hset("taskq:meta", mapping={"layout": 1, "partitions": 8})

        def lead_to_new() -> None:
            ask(sentinel, "SENTINEL", "REMOVE", SERVICE)
            ask(sentinel, "SENTINEL", "MONITOR", SERVICE, "127.0.0.1", ports[1], 1)

        yield Abandoned(f"redis+sentinel://127.0.0.1:{ports[2]}/{SERVICE}", new, lead_to_new)


def test_a_master_that_nobody_confirms_is_looked_up_again(abandoned: Abandoned) -> None:
    """It may be cut off from its replicas, one of which is the master now: clients that reach both must leave it."""
    engine = open_engine(abandoned.url, **SHORT)
    queue = engine.queue("shop", "orders")
    with pytest.raises(NotReplicatedError):
        engine.run(publish(queue, [b"x"]))
    abandoned.lead_to_new()

    with pytest.raises(NotReplicatedError) as second:
        engine.run(publish(queue, [b"x"]))

    assert ids_in(abandoned.new, engine) == set(second.value.job_ids)
    engine.close()


@in_loop
async def test_it_is_from_asyncio_too(abandoned: Abandoned) -> None:
    async with opened(abandoned.url, **SHORT) as engine:
        queue = engine.queue("shop", "orders")
        with pytest.raises(NotReplicatedError):
            await engine.run(publish(queue, [b"x"]))
        abandoned.lead_to_new()

        with pytest.raises(NotReplicatedError) as second:
            await engine.run(publish(queue, [b"x"]))

        assert ids_in(abandoned.new, engine) == set(second.value.job_ids)


@in_loop
async def test_in_a_cluster_each_master_answers_for_its_own_replicas(tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", masters=2, replicated=True) as masters:
        url = "redis+cluster://" + ",".join(f"127.0.0.1:{port_of(master)}" for master in masters)
        engine = open_engine(url, **SHORT)
        queues = [engine.queue("shop", f"q{number}") for number in range(8)]
        async with opened(url, **SHORT) as other:
            await asyncio.gather(*[other.run(publish(queue, [b"x"])) for queue in queues])
            on_first = [name in names_on(masters[0]) for name in (queue.name for queue in queues)]
            assert set(on_first) == {True, False}
            assert probe_store(url).replicas == 1
            with stopped(only_replica_of(masters[0])):
                refused = [await is_refused(asyncio.to_thread(engine.run, publish(queue, [b"x"]))) for queue in queues]
                refused_too = await asyncio.gather(*[is_refused(other.run(publish(queue, [b"x"]))) for queue in queues])
        engine.close()

    assert refused == refused_too == on_first


def names_on(master: redis.Redis) -> set[bytes]:
    """Names of the queues that it holds."""
    return {name for key in ask(master, "KEYS", "{tq*}:queues") for name in ask(master, "ZRANGE", key, 0, -1)}


def only_replica_of(master: redis.Redis) -> redis.Redis:
    return redis.Redis(port=master.info("replication")["slave0"]["port"])


async def is_refused(publishing: Awaitable[Any]) -> bool:
    try:
        await publishing
    except NotReplicatedError:
        return True
    return False
