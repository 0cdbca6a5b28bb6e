"""A synchronous engine keeps its connections between calls: none meets one that has ended, or another call's reply."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Final

import pytest
import redis
from hiredis import pack_command

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, PublishOptions, consume, open_engine, publish, size
from queues.engine.transport import redis_internals
from queues.engine.transport.redis_internals import KEPT_MAX, SPIN_PAUSE_MAX, KeptConnections
from tests.support.waiting import wait_until

THREADS: Final = 4


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path_factory.mktemp("kept") / "redis", persistent=False) as server:
        yield server


@pytest.fixture
def engine(own_redis: EmbeddedRedis) -> Iterator[Engine]:
    engine = open_engine(own_redis.url)
    yield engine
    engine.close()


def connections(engine: Engine) -> set[str]:
    """The server's numbers of all that are open."""
    return {client["id"] for client in engine.client.client_list(_type="normal")}


def packed(*command: str) -> bytes:
    whole: bytes = pack_command(command)  # type: ignore[arg-type]  # its stub knows tuples of one
    return whole


def load_scripts(engine: Engine) -> None:
    """Have the server know the scripts: redis-py loads them by connections of its own."""
    queue = engine.queue("shop", "scripts")
    engine.run(publish(queue, [b"1"], PublishOptions()))
    engine.run(consume(queue, ttr_ms=60_000))


def test_threads_share_connections_and_get_their_own_replies(engine: Engine) -> None:
    barrier = Barrier(THREADS)

    def publish_and_take(number: int) -> set[bytes]:
        queue = engine.queue("shop", f"of-{number}")
        barrier.wait()
        for turn in range(50):
            engine.run(publish(queue, [f"{number}-{turn}".encode()], PublishOptions()))
        return {job.body for job in engine.run(consume(queue, ttr_ms=60_000, count=50)).jobs}

    load_scripts(engine)
    before = connections(engine)
    with ThreadPoolExecutor(THREADS) as threads:
        bodies = list(threads.map(publish_and_take, range(THREADS)))

    assert bodies == [{f"{number}-{turn}".encode() for turn in range(50)} for number in range(THREADS)]
    assert len(connections(engine) - before) <= THREADS


def test_a_connection_that_the_server_has_ended_is_made_anew_without_an_error(engine: Engine) -> None:
    queue = engine.queue("shop", "ended")
    engine.run(publish(queue, [b"1"], PublishOptions()))

    engine.client.client_kill_filter(_type="normal", skipme=True)
    engine.run(publish(queue, [b"2"], PublishOptions()))

    assert engine.run(size(queue)) == 2


def test_after_a_restart_of_the_server_the_next_call_goes_through(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / "redis", persistent=False) as server:
        engine = open_engine(server.url)
        queue = engine.queue("shop", "restarted")
        engine.run(publish(queue, [b"1"], PublishOptions()))
        server.kill()
        server.start()

        assert engine.run(publish(queue, [b"2"], PublishOptions())).job_ids
        engine.close()


def test_a_forked_process_has_connections_of_its_own(engine: Engine) -> None:
    queue = engine.queue("shop", "forked")
    engine.run(publish(queue, [b"parent"], PublishOptions()))
    before = connections(engine)

    child = os.fork()
    if child == 0:
        try:
            engine.run(publish(queue, [b"child"], PublishOptions()))
            os._exit(0 if connections(engine) - before else 2)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert engine.run(size(queue)) == 2


def test_closing_the_engine_closes_them(own_redis: EmbeddedRedis, engine: Engine) -> None:
    before = connections(engine)
    other = open_engine(own_redis.url)
    other.run(publish(other.queue("shop", "closed"), [b"1"], PublishOptions()))
    its = connections(engine) - before
    assert its

    other.close()

    wait_until(lambda: not its & connections(engine), or_fail="a connection is still open")


def test_few_are_kept_and_a_pool_of_one_connection_serves_all(own_redis: EmbeddedRedis, engine: Engine) -> None:
    other = open_engine(f"{own_redis.url}?max_connections=1")
    queue = other.queue("shop", "of-one")
    other.client.script_flush()

    assert other.run(publish(queue, [b"1"], PublishOptions())).job_ids
    assert other.client.ping()
    other.close()

    with ThreadPoolExecutor(3 * KEPT_MAX) as threads:
        barrier = Barrier(3 * KEPT_MAX)

        def publish_at_once(_: int) -> None:
            barrier.wait()
            engine.run(publish(engine.queue("shop", "at-once"), [b"1"], PublishOptions()))

        list(threads.map(publish_at_once, range(3 * KEPT_MAX)))
    assert len(engine.client.connection_pool._in_use_connections) <= KEPT_MAX


def test_replies_that_take_long_are_waited_for_asleep(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_internals, "_PROCESSORS", 2)
    kept = KeptConnections(engine.client)
    sleep, ping = packed("BLPOP", "nobody-pushes", "0.05"), packed("PING")

    assert kept.ask([sleep, ping, ping], commands=3) == [None, b"PONG", b"PONG"]
    (connection,) = kept._free
    assert connection._to_skip == 1  # the next call does not spin
    for missed in range(1, 12):
        connection._to_skip = 0
        assert kept.ask([sleep], commands=1) == [None]
        assert connection._to_skip == min(2**missed, SPIN_PAUSE_MAX)

    monkeypatch.setattr(redis_internals, "SPIN_S", 10.0)
    for skipped in range(SPIN_PAUSE_MAX - 1, -1, -1):
        assert kept.ask([ping], commands=1) == [b"PONG"]
        assert connection._to_skip == skipped
    assert kept.ask([ping, ping], commands=2) == [b"PONG", b"PONG"]
    assert connection._pause == 0, "replies come soon again"


def test_a_connection_that_ends_while_its_reply_is_awaited_says_so(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_internals, "_PROCESSORS", 2)
    monkeypatch.setattr(redis_internals, "SPIN_S", 10.0)
    kept = KeptConnections(engine.client)

    with pytest.raises(redis.ConnectionError):
        kept.ask([packed("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")], commands=2)
    assert kept.ask([packed("PING")], commands=1) == [b"PONG"]
