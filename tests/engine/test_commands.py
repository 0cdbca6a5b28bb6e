"""An operation as it is sent to Redis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hiredis import pack_command

from queues.engine import PublishOptions, ack, publish
from queues.engine.keys import Layout
from queues.engine.operation import Operation
from queues.engine.transport.resp_protocol import packed
from tests.support.rows import in_one_test

QUEUE = Layout(4).queue("shop", "orders")
OPERATIONS: list[Operation[Any]] = [
    publish(QUEUE, [b"", b"\r\n*3\r\n", bytes(range(256)) * 1_000]),
    publish(QUEUE, [b"x"], PublishOptions(attributes={"näme": "wért"}, key="k")),
    ack(QUEUE, ["01JDB000000000000000000000"] * 100),
    replace(ack(QUEUE, ["01JDB000000000000000000000"]), args=(1.5, -3, "", b"\0")),
    replace(ack(QUEUE, ["01JDB000000000000000000000"]), args=(), keys=()),
]


@in_one_test("operation", OPERATIONS)
def test_what_is_packed_by_pieces_is_what_redis_would_be_sent_whole(operation: Operation[Any]) -> None:
    parts: Any = ("EVALSHA", operation.script.sha, len(operation.keys), *operation.keys, *operation.args)
    whole = pack_command(parts)

    assert packed(operation) == whole
    assert packed(operation) == whole, "nor when the head is remembered"
