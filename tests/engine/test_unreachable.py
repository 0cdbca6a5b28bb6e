"""However Redis cannot be reached, whatever the client library makes of it: StoreUnavailableError, then recovery."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvloop

from queues.engine import AsyncEngine, QueueKeys, StoreUnavailableError, open_async_engine, open_engine, publish
from queues.engine.store import read_store_load
from queues.engine.transport import resp_protocol as protocol_module
from tests.support.tcp_proxy import Failure, TcpProxy, tcp_proxy

CALLS = 40
TIMEOUT_S = 0.3
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


@pytest.fixture
def proxy(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TcpProxy]:
    monkeypatch.setattr(protocol_module, "REPLY_TIMEOUT_S", TIMEOUT_S)
    with tcp_proxy(urlsplit(redis_url).path) as proxy:
        yield proxy


def url_of(proxy: TcpProxy) -> str:
    return f"redis://127.0.0.1:{proxy.port}?socket_timeout={TIMEOUT_S}&socket_connect_timeout={TIMEOUT_S}"


FAILURES = [failure for failure in Failure if failure is not Failure.NONE]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_threads_are_told_that_redis_is_unavailable(proxy: TcpProxy, failure: Failure) -> None:
    engine = open_engine(url_of(proxy), partitions=3)
    queue = engine.queue("shop", "orders")
    engine.run(publish(queue, [b"x"]))
    proxy.fail(failure)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            engine.run(publish(queue, [b"x"]))
        with pytest.raises(StoreUnavailableError):
            engine.batch([publish(queue, [b"x"]), publish(queue, [b"y"])])
        with pytest.raises(StoreUnavailableError):
            open_engine(url_of(proxy))
    proxy.recover()
    if failure is Failure.SILENCE:
        proxy.cut()

    assert engine.run(publish(queue, [b"x"])).job_ids
    engine.close()


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_coroutines_are_told_too(proxy: TcpProxy, failure: Failure, loop: str) -> None:
    async def work() -> None:
        engine = await open_async_engine(url_of(proxy), partitions=3)
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"x"]))
        proxy.fail(failure)
        outcomes = await _try_all(engine, queue, url_of(proxy), 4 if failure is Failure.SILENCE else CALLS)
        proxy.recover()

        assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
        if failure is Failure.SILENCE:
            proxy.cut()
        assert await _first_that_works(engine, queue)
        await engine.close()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        unhandled: list[dict[str, Any]] = []
        runner.get_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        runner.run(asyncio.wait_for(work(), 30))
    assert unhandled == []


async def _try_all(engine: AsyncEngine, queue: QueueKeys, url: str, times: int) -> list[Any]:
    """What becomes of a call, of a question to the server and of opening a pool, one attempt after the other."""
    outcomes: list[Any] = []
    for _ in range(times):
        attempts = (engine.run(publish(queue, [b"x"])), read_store_load(engine), open_async_engine(url))
        outcomes += await asyncio.gather(*attempts, return_exceptions=True)
    return outcomes


async def _first_that_works(engine: AsyncEngine, queue: QueueKeys) -> bool:
    for _ in range(3):  # a connection of before may be found dead first
        try:
            await engine.run(publish(queue, [b"x"]))
        except StoreUnavailableError:
            continue
        return True
    return False
