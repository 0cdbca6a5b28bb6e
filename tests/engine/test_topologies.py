"""A real Redis Cluster and a real Sentinel: every verb, both engines, wake-ups included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis._parsers import _HiredisParser

from queues.engine import (
    Engine,
    FullStreams,
    LimitReachedError,
    RequestLimit,
    StoreUnavailableError,
    drain_state,
    limited,
    open_engine,
    probe_store,
    publish,
    size,
    take_token_limit,
)
from queues.engine.transport.resp_protocol import RespProtocol
from queues.lake.storage import LakeError
from queues.pump.roles.drain import Drain

from .loop import in_loop, opened, start_waiting
from .topologies import cluster, empty_cluster, sentinel
from .verbs import QUEUES, chain, whole_life, workflow

SERVICE = "jobs"
LIMIT = RequestLimit(token_id="t", kind="read", allowance=1, interval_ms=9_000)


@pytest.fixture(scope="module")
def masters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[redis.Redis]]:
    with cluster(tmp_path_factory.mktemp("cluster")) as clients:
        yield clients


@pytest.fixture
def cluster_url(masters: list[redis.Redis]) -> str:
    return empty_cluster(masters)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[redis.Redis, int]]:
    with sentinel(tmp_path_factory.mktemp("sentinel"), SERVICE) as found:
        yield found


@pytest.fixture
def sentinel_url(watched: tuple[redis.Redis, int]) -> str:
    master, port = watched
    master.flushall()
    return f"redis+sentinel://127.0.0.1:{port}/{SERVICE}/3"


@pytest.fixture(params=["cluster", "sentinel"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def test_a_stream_that_becomes_full_wakes_drains_wherever_it_lies(url: str) -> None:
    engine = open_engine(url, events_memory=16_384)
    streams = FullStreams()
    queues = {engine.queue("shop", f"q{number}").partition: engine.queue("shop", f"q{number}") for number in range(99)}
    assert len(queues) == engine.layout.partitions
    assert not streams.wait(engine, 0.1)
    for queue in queues.values():
        engine.run(publish(queue, [b"x"] * 20))

        assert streams.wait(engine, 5)
    streams.close()
    engine.close()


def test_a_hot_queue_is_lent_what_the_partitions_on_its_node_leave_unused(url: str, tmp_path: Path) -> None:
    share = 16_384
    engine = open_engine(url, events_memory=8 * share)
    queue = engine.queue("shop", "orders")
    looks = [drain_state(partition) for partition in range(8)]
    groups = engine.group_by_server(looks)
    assert sorted(place for places in groups for place in places) == list(range(8))
    (beside,) = [places for places in groups if queue.partition in places]
    engine.run(publish(queue, [b"x"] * 200))
    (tmp_path / "file").touch()

    with pytest.raises(LakeError):
        Drain("any", url=str(tmp_path / "file" / "lake"), every_s=0).tick(engine, None)

    lent = {place: state.most for place, state in enumerate(engine.batch(looks))}
    assert sum(lent[place] or 0 for place in beside) <= share * len(beside)
    assert (lent[queue.partition] or 0) >= share * (1 + len(beside)) // 2 - 8
    assert {lent[place] for place in range(8) if place not in beside} <= {None}
    engine.close()


def test_every_verb_works_synchronously(url: str) -> None:
    engine = open_engine(url)

    assert engine.run(whole_life(engine)) == QUEUES
    assert [engine.run(take_token_limit(LIMIT)).allowed for _ in (1, 2)] == [
        True,
        False,
    ]
    engine.close()


@in_loop
async def test_every_verb_works_from_asyncio(url: str) -> None:
    async with opened(url) as engine:
        assert await engine.run(whole_life(engine)) == QUEUES
        assert (await engine.run(take_token_limit(LIMIT))).allowed


def test_jobs_on_different_nodes_wait_for_each_other(url: str) -> None:
    engine = open_engine(url)

    assert engine.run(chain(engine)) == [f"q{number:02}" for number in range(QUEUES)]
    assert engine.run(workflow(engine)) == [f"q{number:02}" for number in range(QUEUES)]
    engine.close()


@in_loop
async def test_jobs_on_different_nodes_wait_for_each_other_in_asyncio(url: str) -> None:
    async with opened(url) as engine:
        assert await engine.run(chain(engine)) == [f"q{number:02}" for number in range(QUEUES)]
        assert await engine.run(workflow(engine)) == [f"q{number:02}" for number in range(QUEUES)]


@in_loop
async def test_waiters_of_every_partition_are_woken(url: str) -> None:
    async with opened(url) as engine:
        queues = [engine.queue("shop", f"q{number:02}") for number in range(QUEUES)]
        waiting = [task for queue in queues for task in await start_waiting(engine, queue)]
        engine._waiters._fallback_polls.stop()
        await asyncio.gather(*[engine.run(publish(queue, [queue.name])) for queue in queues])
        found = await asyncio.gather(*waiting)

    assert [consumed.jobs[0].body for consumed in found] == [queue.name for queue in queues]


@in_loop
async def test_scripts_that_a_node_has_forgotten_are_loaded_again(url: str) -> None:
    engine = open_engine(url)
    async with opened(url) as other:
        for flush in range(3):
            engine.client.script_flush()
            queues = [engine.queue("shop", f"q{number:02}") for number in range(QUEUES)]
            if flush == 0:
                engine.run(publish(queues[0], [b"x"]))
            elif flush == 1:
                assert len(engine.batch([publish(queue, [b"x"]) for queue in queues])) == QUEUES
            else:
                done = await asyncio.gather(*[other.run(publish(queue, [b"x"])) for queue in queues])
                assert len(done) == QUEUES
    engine.close()


@pytest.fixture
def lost_reply(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it to lose the next reply that says a script has done its work, and the connection with it."""
    is_next = [False]

    def loses(reply: object) -> bool:
        found = is_next[0] and isinstance(reply, list) and reply[:1] == [b"ok"]
        is_next[0] = is_next[0] and not found
        return found

    read, received = _HiredisParser.read_response, RespProtocol.data_received

    def read_response(self: Any, *args: Any, **options: Any) -> Any:
        reply = read(self, *args, **options)
        if loses(reply):
            raise redis.ConnectionError("Connection closed by server.")
        return reply

    def data_received(self: RespProtocol, data: bytes) -> None:
        if is_next[0] and b"$2\r\nok\r\n" in data:
            is_next[0] = False
            self.connection_lost(None)
        else:
            received(self, data)

    monkeypatch.setattr(_HiredisParser, "read_response", read_response)
    monkeypatch.setattr(RespProtocol, "data_received", data_received)
    return lambda: is_next.__setitem__(0, True)


def test_a_script_whose_reply_was_lost_is_not_repeated(url: str, lost_reply: Callable[[], None]) -> None:
    engine = open_engine(url)
    queue = engine.queue("shop", "orders")
    assert engine.run(size(queue)) == 0
    engine.run(publish(queue, [b"1"]))
    lost_reply()

    with pytest.raises(StoreUnavailableError):
        engine.run(publish(queue, [b"2"]))

    assert engine.run(size(queue)) == 2
    engine.close()


@in_loop
async def test_nor_is_it_from_asyncio(url: str, lost_reply: Callable[[], None]) -> None:
    async with opened(url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"1"]))
        lost_reply()

        with pytest.raises(StoreUnavailableError):
            await engine.run(publish(queue, [b"2"]))

        assert await engine.run(size(queue)) == 2


def test_a_batch_one_reply_of_which_was_lost_is_not_repeated(url: str, lost_reply: Callable[[], None]) -> None:
    engine = open_engine(url)
    queue = engine.queue("shop", "orders")
    engine.run(publish(queue, [b"0"]))
    lost_reply()

    with pytest.raises(StoreUnavailableError):
        engine.batch([publish(queue, [b"1"]), publish(queue, [b"2"])])

    assert engine.run(size(queue)) == 3
    engine.close()


def test_the_keys_of_a_cluster_lie_on_all_its_nodes(cluster_url: str, masters: list[redis.Redis]) -> None:
    engine = open_engine(cluster_url)
    for number in range(40):
        engine.run(publish(engine.queue("shop", f"q{number}"), [b"x"]))

    assert all(int(client.dbsize()) > 0 for client in masters)
    engine.close()


@in_loop
async def test_a_request_is_counted_in_its_call_unless_slots_lie_on_several_nodes(url: str) -> None:
    async with opened(url) as engine:
        assert engine.counts_in_call == ("cluster" not in url)
        if engine.counts_in_call:
            queue = engine.queue("shop", "orders")
            await engine.run(limited(publish(queue, [b"x"]), LIMIT))
            with pytest.raises(LimitReachedError):
                await engine.run(limited(publish(queue, [b"x"]), LIMIT))


@in_loop
async def test_nor_is_it_if_a_cluster_is_named_by_a_plain_url(tmp_path: Path) -> None:
    with cluster(tmp_path / "one", masters=1) as (master,):
        async with opened(f"redis://127.0.0.1:{master.connection_pool.connection_kwargs['port']}") as engine:
            assert not engine.counts_in_call
            assert await engine.run(whole_life(engine)) == QUEUES


def test_a_cluster_is_probed_as_one_store(cluster_url: str) -> None:
    engine: Engine = open_engine(cluster_url, partitions=5)
    engine.run(publish(engine.queue("shop", "orders"), [b"x"] * 7))
    engine.close()

    info = probe_store(cluster_url)

    assert (info.reachable, info.error, info.mode) == (True, "", "cluster")
    assert (info.jobs, info.partitions, info.layout_version) == (7, 5, 1)
    assert info.used_memory is not None


def test_what_sentinel_names_is_probed(sentinel_url: str) -> None:
    engine = open_engine(sentinel_url)
    engine.run(publish(engine.queue("shop", "orders"), [b"x"] * 3))
    engine.close()

    info = probe_store(sentinel_url)

    assert (info.reachable, info.jobs, info.mode) == (True, 3, "standalone")


def test_the_database_number_of_a_sentinel_url_is_used(sentinel_url: str, watched: tuple[redis.Redis, int]) -> None:
    open_engine(sentinel_url).close()

    assert set(watched[0].info("keyspace")) == {"db3"}


def test_a_service_that_no_sentinel_knows_is_unreachable(sentinel_url: str) -> None:
    info = probe_store(sentinel_url.replace(f"/{SERVICE}/", "/nobody/"))

    assert not info.reachable
    assert info.error
