"""The way to a server: connections that end, hang, lie and come back. What nobody heard the reply to is an error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
import uvloop
from hiredis import pack_command
from redis.exceptions import ConnectionError, TimeoutError

from queues.engine import AsyncEngine, QueueKeys, StoreUnavailableError, publish, size
from queues.engine.transport import resp_protocol as protocol_module
from queues.engine.transport.connection import connect_async, parse_url
from queues.engine.transport.redis_connection import RedisConnection

from .crossing import Crossing, crossing
from .loop import opened, until, until_it_is_so

SHORT_S = 0.3

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


class Loop:
    """Runs a test on one kind of event loop, with an end, and notes what the loop was told of and nobody handled."""

    def __init__(self, kind: str) -> None:
        self.unhandled: list[dict[str, Any]] = []
        self._kind = kind

    def __call__(self, work: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=LOOPS[self._kind]) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: self.unhandled.append(context))
            runner.run(asyncio.wait_for(work, 20))
        assert self.unhandled == []


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Loop:
    return Loop(request.param)


def packed(*command: Any) -> bytes:
    raw: bytes = pack_command(command)
    return raw


@asynccontextmanager
async def connected(directory: Path, redis_url: str) -> AsyncIterator[tuple[RedisConnection, Crossing]]:
    """A connection to the server by way of a crossing."""
    async with crossing(directory, redis_url) as (way, url):
        client = connect_async(parse_url(url))
        connection = RedisConnection(client)
        try:
            yield connection, way
        finally:
            connection.close()
            await client.aclose()
            await until(lambda: not way.open_connections, or_fail="connections are left open")


async def start_unanswered(
    connection: RedisConnection, way: Crossing, batches: Iterable[Sequence[bytes]]
) -> list[asyncio.Task[list[Any]]]:
    """Calls that are sent on an open connection, whose replies are held back."""
    await connection.call([packed("ECHO", "first")])
    way.hold_replies()
    calls = [asyncio.ensure_future(connection.call(batch)) for batch in batches]
    await asyncio.sleep(0)
    return calls


async def outcome(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except Exception as error:
        return error


def test_replies_come_in_order_to_those_who_asked(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            calls = [[packed("ECHO", f"{batch}.{number}") for number in range(batch)] for batch in range(20)]
            said = await asyncio.gather(*[connection.call(call) for call in calls])

            assert said == [[b"%d.%d" % (batch, number) for number in range(batch)] for batch in range(20)]
            assert way.accepted == 1

    run(work())


def test_errors_of_redis_are_values(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, _):
            first, refused, last = await connection.call(
                [packed("ECHO", "1"), packed("EVALSHA", "0" * 40, "0"), packed("ECHO", "2")]
            )

        assert (first, last) == (b"1", b"2")
        assert "No matching script" in str(refused)

    run(work())


def test_large_commands_and_replies_arrive_whole(run: Loop, tmp_path: Path, redis_url: str) -> None:
    body = bytes(range(256)) * 65_536

    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, _):
            said = await asyncio.gather(
                *[connection.call([packed("ECHO", body), packed("ECHO", "end")]) for _ in range(3)]
            )

        assert said == [[body, b"end"]] * 3

    run(work())


def test_a_lost_connection_is_an_error_to_who_waits_and_replaced_for_the_next(
    run: Loop, tmp_path: Path, redis_url: str
) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            calls = await start_unanswered(connection, way, [[packed("INCR", "counter")] for _ in range(3)])
            way.cut()
            lost = await asyncio.gather(*calls, return_exceptions=True)
            way.let_replies_pass()

            assert [type(one) for one in lost] == [ConnectionError] * 3
            assert await connection.call([packed("ECHO", "again")]) == [b"again"]
            assert way.accepted == 2

    run(work())


def test_an_idle_connection_that_the_server_closed_costs_no_call(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            await connection.call([packed("ECHO", "first")])
            way.cut()
            await until(lambda: not way.open_connections, or_fail="the connection is not closed")
            await until(
                lambda: connection._protocol is None or connection._protocol.is_lost, or_fail="its end is not noticed"
            )

            assert await connection.call([packed("ECHO", "again")]) == [b"again"]

    run(work())


def test_silence_ends_a_connection_and_a_late_reply_is_nobodys(
    run: Loop, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol_module, "REPLY_TIMEOUT_S", SHORT_S)

    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            await connection.call([packed("ECHO", "first")])
            way.hold_replies()
            calls = [connection.call([packed("ECHO", f"late {number}")]) for number in range(3)]
            late = await asyncio.gather(*calls, return_exceptions=True)
            next_calls = [
                asyncio.ensure_future(connection.call([packed("ECHO", f"next {number}")])) for number in range(3)
            ]
            way.let_replies_pass()

            assert [type(one) for one in late] == [TimeoutError] * 3
            assert await asyncio.gather(*next_calls) == [[b"next 0"], [b"next 1"], [b"next 2"]]

    run(work())


def test_slowness_does_not_end_a_connection(
    run: Loop, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol_module, "REPLY_TIMEOUT_S", SHORT_S)

    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            way.piece_bytes = 1_000
            await connection.call([packed("ECHO", "first")])
            way.pause_s = SHORT_S / 3
            began = asyncio.get_running_loop().time()
            said = await asyncio.gather(*[connection.call([packed("ECHO", b"x" * 3_000)]) for _ in range(3)])

            assert said == [[b"x" * 3_000]] * 3
            assert asyncio.get_running_loop().time() - began > 2 * SHORT_S

    run(work())


def test_an_event_loop_that_was_held_up_reads_before_it_judges(
    run: Loop, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol_module, "REPLY_TIMEOUT_S", SHORT_S)

    async def work() -> None:
        client, blocking = connect_async(parse_url(redis_url)), redis.Redis.from_url(redis_url)
        connection = RedisConnection(client)
        await connection.call([packed("ECHO", "first")])
        call = asyncio.ensure_future(connection.call([packed("ECHO", "there all the time")]))
        await asyncio.sleep(0)
        blocking.blpop(["empty"], timeout=0.6)  # blocks this loop while the reply is on its way

        assert await call == [b"there all the time"]
        connection.close()
        await client.aclose()
        blocking.close()

    run(work())


@pytest.mark.parametrize("said", [b"+unasked\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_was_not_asked_for_ends_the_connection(run: Loop, tmp_path: Path, redis_url: str, said: bytes) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            await connection.call([packed("ECHO", "first")])
            way.interrupt(said)
            await until(
                lambda: connection._protocol is None or connection._protocol.is_lost, or_fail="it is not noticed"
            )

            assert await connection.call([packed("ECHO", "again")]) == [b"again"]

    run(work())


def test_garbage_instead_of_a_reply_is_an_error_to_all_who_wait(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            calls = await start_unanswered(connection, way, [[packed("ECHO", "x")] for _ in range(3)])
            way.interrupt(b"no such thing\r\n")

            assert [type(await outcome(call)) for call in calls] == [ConnectionError] * 3
            way.let_replies_pass()

    run(work())


async def _bytes_of_a_greeting(directory: Path, redis_url: str) -> int:
    """How much the server says until redis-py calls itself connected."""
    (directory / "greeting").mkdir()
    async with crossing(directory / "greeting", redis_url) as (way, url):
        client = connect_async(parse_url(url))
        connection = client.connection_pool.make_connection()
        await connection.connect()
        await connection.disconnect()
        return way.carried


def test_a_server_that_ends_each_connection_at_once_is_given_up(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            way.cut_after = await _bytes_of_a_greeting(tmp_path, redis_url)
            results = [await outcome(connection.call([packed("ECHO", "x")])) for _ in range(5)]
            way.cut_after = None

            assert [type(one) for one in results] == [ConnectionError] * 5
            assert way.accepted == 5
            assert await connection.call([packed("ECHO", "again")]) == [b"again"]

    run(work())


def test_all_who_wait_share_one_attempt_to_connect(run: Loop, tmp_path: Path) -> None:
    async def work() -> None:
        client = connect_async(parse_url(f"unix://{tmp_path}/nobody.sock"))
        connection = RedisConnection(client)
        made: list[object] = []
        make = client.connection_pool.make_connection

        def make_and_count() -> object:
            made.append(make())
            return made[-1]

        client.connection_pool.make_connection = make_and_count
        failed = await asyncio.gather(*[connection.call([packed("PING")]) for _ in range(50)], return_exceptions=True)

        assert [type(one) for one in failed] == [ConnectionError] * 50
        assert len(made) == 1
        assert type(await outcome(connection.call([packed("PING")]))) is ConnectionError
        assert len(made) == 2
        connection.close()

    run(work())


def test_a_caller_that_goes_while_connecting_does_not_harm_the_others(
    run: Loop, tmp_path: Path, redis_url: str
) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, _):
            going, staying = (
                asyncio.ensure_future(connection.call([packed("ECHO", name)])) for name in ("going", "staying")
            )
            await asyncio.sleep(0)
            going.cancel()

            assert await staying == [b"staying"]
            assert going.cancelled()

    run(work())


def test_a_caller_that_goes_before_its_reply_leaves_the_order_as_it_is(
    run: Loop, tmp_path: Path, redis_url: str
) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            calls = await start_unanswered(connection, way, [[packed("ECHO", str(number))] * 2 for number in range(6)])
            for call in calls[::2]:
                call.cancel()
            way.let_replies_pass()

            assert [await call for call in calls[1::2]] == [[b"1"] * 2, [b"3"] * 2, [b"5"] * 2]

    run(work())


def test_closing_while_connecting_leaves_no_connection(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        for turns in range(12):
            (tmp_path / str(turns)).mkdir()
            async with connected(tmp_path / str(turns), redis_url) as (connection, _):
                call = asyncio.ensure_future(connection.call([packed("ECHO", "x")]))
                for _ in range(turns):
                    await asyncio.sleep(0)
                connection.close()

                assert type(await outcome(call)) in (ConnectionError, TimeoutError)

    run(work())


def test_closing_is_an_error_to_who_waits_and_to_who_comes_later(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            (call,) = await start_unanswered(connection, way, [[packed("ECHO", "x")]])
            connection.close()

            assert type(await outcome(call)) is ConnectionError
            assert type(await outcome(connection.call([packed("ECHO", "later")]))) is ConnectionError
            way.let_replies_pass()

    run(work())


def test_connecting_anew_lets_come_to_an_end_what_is_under_way(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with connected(tmp_path, redis_url) as (connection, way):
            await connection.call([packed("ECHO", "first")])
            calls = [asyncio.ensure_future(connection.call([packed("ECHO", str(number))])) for number in range(3)]
            await asyncio.sleep(0)
            connection.renew()
            connection.renew()

            assert await connection.call([packed("ECHO", "new")]) == [b"new"]
            assert [await call for call in calls] == [[b"0"], [b"1"], [b"2"]]
            assert way.accepted == 2
            await until(lambda: way.open_connections == 1, or_fail="the old connection stays open")

    run(work())


def test_an_engine_goes_on_after_its_connection_was_lost_and_says_so(run: Loop, tmp_path: Path, redis_url: str) -> None:
    async def work() -> None:
        async with crossing(tmp_path, redis_url) as (way, url), opened(url) as engine:
            queue = engine.queue("shop", "orders")
            await engine.run(publish(queue, [b"first"]))
            assert await engine.run(size(queue)) == 1
            way.hold_replies()
            call = asyncio.ensure_future(engine.run(publish(queue, [b"x"])))
            async with opened(redis_url) as other:
                await until_it_is_so(lambda: _has(other, queue, 2), or_fail="the publish does not get there")
            way.cut()
            with pytest.raises(StoreUnavailableError):
                await call
            way.let_replies_pass()

            assert await engine.run(size(queue)) == 2

    run(work())


async def _has(engine: AsyncEngine, queue: QueueKeys, jobs: int) -> bool:
    return await engine.run(size(queue)) == jobs


def test_a_loop_may_end_without_a_goodbye(run: Loop, redis_url: str, recwarn: pytest.WarningsRecorder) -> None:
    async def work() -> None:
        connection = RedisConnection(connect_async(parse_url(redis_url)))
        assert await connection.call([packed("ECHO", "x")]) == [b"x"]
        hanging = asyncio.ensure_future(connection.call([packed("BLPOP", "nothing", 0)]))
        await asyncio.sleep(0)
        hanging.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hanging

    run(work())
    assert [one for one in recwarn if issubclass(one.category, RuntimeWarning)] == []
