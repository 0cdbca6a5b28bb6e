"""Calls that travel alone have connections of their own, also when another server has sent them here."""

from __future__ import annotations

import asyncio

import pytest

from queues.engine import publish
from queues.engine.keys import Layout
from queues.engine.transport.batch_queue import BatchQueue
from queues.engine.transport.merging import Call
from queues.engine.transport.redis_connection import RedisConnection
from queues.engine.transport.replication import ReplicaWait
from queues.engine.transport.routing import Server

from .loop import in_loop, until

QUEUE = Layout(1).queue("shop", "orders")
SMALL, LARGE = publish(QUEUE, [b"x"]), publish(QUEUE, [b"x"] * 100)


@pytest.mark.parametrize("wait", [None, ReplicaWait(1, 0.1)], ids=["plain", "replicated"])
@in_loop
async def test_what_another_server_has_sent_here_goes_on_a_connection_of_its_kind(wait: ReplicaWait | None) -> None:
    carried: dict[bool, set[RedisConnection]] = {True: set(), False: set()}

    async def send_batch(_batch_queue: BatchQueue, connection: RedisConnection, batch: list[Call]) -> None:
        await asyncio.sleep(0.01)
        carried[batch[0][0].alone].add(connection)

    batch_queue = BatchQueue(Server("", None), send_batch, wait)
    for operation in (SMALL, LARGE) * 20:
        batch_queue.add([(operation, asyncio.get_running_loop().create_future())])
    await until(lambda: not batch_queue.under_way(), or_fail="calls are under way")

    assert batch_queue.connection_for(SMALL) not in carried[True]
    assert batch_queue.connection_for(LARGE) in carried[True]
    assert not carried[True] & carried[False]
