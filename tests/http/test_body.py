"""What the API reads of a body, and how it finds out that the client has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from queues.api.http.body import RequestBody
from queues.api.http.request import Headers
from queues.engine.constants import DISCARD_MAX_BYTES

GONE: dict[str, Any] = {"type": "http.disconnect"}


def uncounted(_size: int) -> None:
    """These are small."""


def part(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


class Wire:
    """Gives these messages, and then nothing."""

    def __init__(self, messages: Iterable[dict[str, Any]]) -> None:
        self.left = list(messages)

    async def receive(self) -> dict[str, Any]:
        if not self.left:
            await asyncio.Event().wait()
        return self.left.pop(0)


async def watch(body: RequestBody) -> Any:
    await body.receive_for_django()
    async with asyncio.timeout(1):
        return await body.receive_for_django()


def test_a_request_of_http_1_without_a_word_of_a_body_has_none() -> None:
    async def scenario() -> Any:
        body = RequestBody("1.1", Headers([(b"host", b"x")]), Wire([GONE]).receive)
        return await body.read(10, 10, uncounted), await watch(body)

    assert asyncio.run(scenario()) == (b"", GONE)


def test_a_request_of_http_2_may_have_a_body_without_saying_so() -> None:
    async def scenario() -> bytes | bytearray | None:
        return await RequestBody("2", Headers([]), Wire([part(b"a", more=True), part(b"b", more=False)]).receive).read(
            10, 10, uncounted
        )

    assert asyncio.run(scenario()) == b"ab"


def test_nothing_is_read_before_somebody_asks_or_declines() -> None:
    wire = Wire([part(b"a", more=False), GONE])

    async def scenario() -> None:
        body = RequestBody("1.1", Headers([(b"content-length", b"1")]), wire.receive)
        await body.receive_for_django()
        watching = asyncio.ensure_future(body.receive_for_django())
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(wire.left) == 2
        assert await body.read(10, 10, uncounted) == b"a"
        assert await watching == GONE

    asyncio.run(scenario())


def test_a_body_that_nobody_reads_is_thrown_away_to_hear_the_client_leave() -> None:
    async def scenario() -> Any:
        messages = [part(b"x", more=True), part(b"x", more=True), GONE]
        body = RequestBody("1.1", Headers([(b"transfer-encoding", b"chunked")]), Wire(messages).receive)
        body.skip()
        found = await watch(body)
        await body.drain()
        return found

    assert asyncio.run(scenario()) == GONE


def test_only_so_much_is_thrown_away() -> None:
    chunk = b"x" * (DISCARD_MAX_BYTES // 4)
    wire = Wire([part(chunk, more=True)] * 8)

    async def scenario() -> None:
        body = RequestBody("1.1", Headers([(b"transfer-encoding", b"chunked")]), wire.receive)
        body.skip()
        with pytest.raises(TimeoutError):
            await watch(body)

    asyncio.run(scenario())
    assert len(wire.left) == 3
