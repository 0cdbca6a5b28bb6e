"""Large requests share the event loop: of all of them one does a slice of its work in a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from itertools import pairwise
from typing import Any

from queues.api.http.body import RequestBody
from queues.api.http.large_requests import LARGE_BYTES, LargeWork, run_in_slices
from queues.api.http.request import Headers


class Turns:
    """Counts the turns of the event loop, from when it is made."""

    def __init__(self) -> None:
        self.number = 0
        self._count()

    def _count(self) -> None:
        self.number += 1
        asyncio.get_running_loop().call_soon(self._count)


def are_apart(turns: list[int]) -> bool:
    return all(one < other for one, other in pairwise(turns))


def test_slices_of_several_are_done_in_different_turns() -> None:
    done: list[int] = []

    async def scenario() -> list[str]:
        turns = Turns()

        def work(name: str) -> Generator[None, None, str]:
            for _ in range(5):
                done.append(turns.number)
                yield
            return name

        return await asyncio.gather(*[run_in_slices(work(name), is_large=True) for name in "abc"])

    assert asyncio.run(scenario()) == ["a", "b", "c"]
    assert len(done) == 15
    assert are_apart(done)


def test_what_needs_one_slice_is_done_at_once() -> None:
    async def scenario() -> int:
        turns = Turns()
        before = turns.number

        def work() -> Generator[None, None, None]:
            return
            yield

        await run_in_slices(work())
        return turns.number - before

    assert asyncio.run(scenario()) == 0


def test_one_that_comes_while_a_slice_is_done_waits_for_another_turn() -> None:
    done: list[int] = []

    async def scenario() -> None:
        turns, work = Turns(), LargeWork()

        async def step() -> None:
            await work.turn()
            done.append(turns.number)

        steps = []
        for _ in range(10):
            steps.append(asyncio.ensure_future(step()))
            await asyncio.sleep(0)
        await asyncio.gather(*steps)

    asyncio.run(scenario())

    assert len(done) == 10
    assert are_apart(done)


def test_a_request_that_is_cancelled_holds_up_no_other() -> None:
    async def scenario() -> None:
        work = LargeWork()
        waiting = [asyncio.ensure_future(work.turn()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[1].cancel()
        async with asyncio.timeout(10):
            await waiting[2]
            await work.turn()

    asyncio.run(scenario())


def test_large_bodies_are_read_by_turns() -> None:
    pieces = 5
    asked: list[int] = []

    async def scenario() -> list[bytes | bytearray]:
        turns = Turns()

        def receive_from(left: list[bytes]) -> Any:
            async def receive() -> dict[str, Any]:
                if len(left) < pieces:
                    asked.append(turns.number)
                return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

            return receive

        headers = Headers([(b"transfer-encoding", b"chunked")])
        bodies = [
            RequestBody("1.1", headers, receive_from([bytes(LARGE_BYTES + 1) for _ in range(pieces)])) for _ in range(3)
        ]
        return [
            body or b""
            for body in await asyncio.gather(*[one.read(1 << 30, 1 << 30, lambda _: None) for one in bodies])
        ]

    assert [len(body) for body in asyncio.run(scenario())] == [pieces * (LARGE_BYTES + 1)] * 3
    assert len(asked) == 3 * (pieces - 1)
    assert are_apart(asked)
