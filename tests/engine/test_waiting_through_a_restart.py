"""Redis goes and comes back while consumers wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import Consumed, StoreUnavailableError, constants, publish

from .loop import in_loop, opened, start_waiting, until
from .test_waiting import only_messages

__all__ = ["only_messages"]


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        yield server


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_who_sleeps_through_the_restart_is_woken_after_it(own_server: EmbeddedRedis) -> None:
    async with opened(own_server.url) as engine:
        queue = engine.queue("shop", "orders")
        waiting = await start_waiting(engine, queue, 5)
        own_server.kill()
        await until(lambda: not engine._subscription.established, or_fail="the loss is not noticed")
        own_server.start()
        await until(lambda: engine._subscription.established, or_fail="it does not subscribe again")
        # A crash may have cost their marks, as it may any write of the last second; a newcomer leaves a new one.
        newcomers = await start_waiting(engine, queue)
        await engine.run(publish(queue, [b"%d" % number for number in range(6)]))
        found = await asyncio.gather(*waiting, *newcomers)

    assert sorted(job.body for consumed in found for job in consumed.jobs) == [b"%d" % number for number in range(6)]


@in_loop
async def test_who_looks_while_redis_is_away_is_told_and_the_others_go_on(
    own_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "FALLBACK_POLL_S", 0.05)
    async with opened(own_server.url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"before"]))
        waiting = await start_waiting(engine, engine.queue("shop", "empty"), 6)
        own_server.kill()
        await until(lambda: any(task.done() for task in waiting), or_fail="nobody looks")
        own_server.start()
        await until(lambda: engine._subscription.established, or_fail="it does not subscribe again")
        other = await engine.wait_consume([queue], ttr_ms=1_000, timeout_s=10)
        await engine.run(publish(engine.queue("shop", "empty"), [b"x"] * 6))
        results = await asyncio.gather(*waiting, return_exceptions=True)

    assert other.jobs[0].body == b"before"
    served = [result for result in results if isinstance(result, Consumed) and result.jobs]
    told = [result for result in results if isinstance(result, StoreUnavailableError)]
    assert (len(served) + len(told), len(told) > 0) == (6, True)


@in_loop
async def test_waiting_begins_when_redis_is_away_and_says_so(own_server: EmbeddedRedis) -> None:
    async with opened(own_server.url) as engine:
        own_server.kill()

        with pytest.raises(StoreUnavailableError):
            await engine.wait_consume([engine.queue("shop", "orders")], ttr_ms=1_000, timeout_s=20)

        assert engine.waiting == 0
