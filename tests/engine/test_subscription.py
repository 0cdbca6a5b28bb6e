"""The one connection that hears what others say: it comes early, comes back, and says when something may be lost."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, StoreUnavailableError
from queues.engine.keys import notice_channel
from queues.engine.waiting import subscription
from queues.engine.waiting.subscription import announce, read_notice

from .loop import in_loop, opened, start_waiting, until


@in_loop
async def test_notices_are_heard_though_nobody_waits(engine: Engine, redis_url: str) -> None:
    heard: list[bytes] = []
    gaps: list[None] = []
    async with opened(redis_url) as listener:
        assert engine.client.client_list(_type="pubsub") == []
        listener.follow_notices(heard.append, lambda: gaps.append(None))
        await until(lambda: gaps, or_fail="it is not established")
        announce(redis_url, [("token-revoked", "default", "abc"), ("unheard-of", "é")])
        await until(lambda: len(heard) == 2, or_fail="the notices are not heard")
        await start_waiting(listener, listener.queue("shop", "orders"))

        assert [read_notice(message) for message in heard] == [("token-revoked", "default", "abc"), ("unheard-of", "é")]
        assert len(engine.client.client_list(_type="pubsub")) == 1, "waiters share it"
        assert len(gaps) == 1


@in_loop
async def test_what_may_have_been_lost_is_told_after_each_cut(engine: Engine, redis_url: str) -> None:
    gaps: list[None] = []
    async with opened(redis_url) as listener:
        listener.follow_notices(lambda _message: None, lambda: gaps.append(None))
        for cuts in range(3):
            await until(lambda wanted=cuts + 1: len(gaps) == wanted, or_fail="nobody is told")  # type: ignore[misc]
            (connection,) = engine.client.client_list(_type="pubsub")
            engine.client.client_kill_filter(_id=connection["id"])


@in_loop
async def test_a_fault_of_one_hearer_does_not_deafen_it(engine: Engine, redis_url: str) -> None:
    heard: list[bytes] = []
    gaps: list[None] = []

    def stumble(message: bytes) -> None:
        heard.append(message)
        raise LookupError(message)

    async with opened(redis_url) as listener:
        listener.follow_notices(stumble, lambda: gaps.append(None))
        await until(lambda: gaps, or_fail="it is not established")
        for word in (b"1", b"2"):
            engine.client.publish(notice_channel(), word)
        await until(lambda: heard == [b"1", b"2"], or_fail="it hears no more")

        assert len(gaps) == 1


@in_loop
async def test_a_server_that_says_nothing_any_more_counts_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "PING_EVERY_S", 0.05)
    monkeypatch.setattr(subscription, "REPLY_TIMEOUT_S", 0.3)
    gaps: list[None] = []
    with EmbeddedRedis(tmp_path, persistent=False) as server:
        async with opened(server.url) as listener:
            listener.follow_notices(lambda _message: None, lambda: gaps.append(None))
            await until(lambda: gaps, or_fail="it is not established")
            assert server.pid is not None
            os.kill(server.pid, signal.SIGSTOP)
            try:
                await until(lambda: not listener._subscription.established, or_fail="the silence is not noticed")
            finally:
                os.kill(server.pid, signal.SIGCONT)
            await until(lambda: len(gaps) == 2, or_fail="it does not come back")


@in_loop
async def test_it_is_begun_while_redis_is_away_and_made_when_it_comes(tmp_path: Path) -> None:
    gaps: list[None] = []
    with EmbeddedRedis(tmp_path, persistent=True) as server:
        async with opened(server.url) as listener:
            server.kill()
            started = time.monotonic()
            listener.follow_notices(lambda _message: None, lambda: gaps.append(None))
            assert time.monotonic() - started < 0.1
            await asyncio.sleep(0)
            assert gaps == []
            server.start()
            await until(lambda: gaps, or_fail="it is not established")


@in_loop
async def test_who_is_cancelled_while_it_is_established_does_not_go_on(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription.Subscription, "start", lambda _self: None)
    for turns in range(4):  # between the event and what it wakes
        async with opened(redis_url) as listener:
            waiting = asyncio.create_task(listener._subscription.wait(5))
            for _ in range(3):  # until it waits
                await asyncio.sleep(0)
            listener._subscription._established.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            if waiting.cancel():
                await asyncio.wait([waiting])
                assert waiting.cancelled(), f"after {turns} turns"


@in_loop
async def test_one_cancellation_ends_it_whenever_it_comes(redis_url: str) -> None:
    """As at the end of a loop, which cancels once and waits: redis-py takes some for a timeout while it connects."""
    for turns in range(40):
        async with opened(redis_url) as listener:
            listener._subscription.start()
            keeping_up = listener._subscription._task
            assert keeping_up is not None
            for _ in range(turns):
                await asyncio.sleep(0)
            keeping_up.cancel()
            await asyncio.wait([keeping_up], timeout=3)
            assert keeping_up.cancelled(), f"after {turns} turns"


def test_an_announcement_that_cannot_be_made_says_so() -> None:
    with pytest.raises(StoreUnavailableError):
        announce("unix:///nonexistent/redis.sock", [("kind", "default", "x")])
