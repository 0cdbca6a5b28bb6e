"""Late replies are taken back call by call."""

from __future__ import annotations

import asyncio
from typing import Any

from queues.engine.keys import Layout
from queues.engine.operation import Operation
from queues.engine.operations.consume import consume_step
from queues.engine.transport.merging import merge
from queues.engine.transport.redis_connection import LateCalls

from .loop import in_loop

QUEUE = Layout(1).queue("shop", "orders")


@in_loop
async def test_calls_that_share_an_operation_are_all_taken_back() -> None:
    three = consume_step(QUEUE, ttr_ms=1_000, count=3)
    one = consume_step(QUEUE, ttr_ms=1_000)
    operations = [three, one, three, three]
    assert consume_step(QUEUE, ttr_ms=1_000, count=3) is three
    loop = asyncio.get_running_loop()
    taken: list[tuple[Operation[Any], Any]] = []

    calls = merge(operations)
    late = LateCalls(
        [(operation, loop.create_future()) for operation in operations],
        calls,
        lambda operation, reply: taken.append((operation, reply)),
    )
    late.of([call.operation for call in calls]).take(["first", "second", "third", "fourth"])
    late.of([three]).take(["again"])

    assert taken == [(three, "fourth"), (three, "third"), (one, "second"), (three, "first"), (three, "again")]
