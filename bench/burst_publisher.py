"""Publishes jobs into one queue as fast as Redis takes them: calls are encoded ahead, and Redis never waits for one."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Final

import hiredis

from queues.engine import Engine, PublishOptions, QueueKeys, names, publish

from .tools import VoidRunError

BULK: Final = 1_000
AHEAD: Final = 4
"""Calls that are on their way at the same time."""


def publish_burst(engine: Engine, path: str, queue: QueueKeys, jobs: int) -> float:
    """Publish so many jobs, over a connection of its own to the unix socket `path`. Seconds. Raises VoidRunError."""
    engine.run(publish(queue, [b"x"]))  # Redis knows the script then; one job more
    calls = list(_calls(queue, jobs // BULK))
    reader = hiredis.Reader()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        began = time.perf_counter()
        for number, call in enumerate(calls):
            connection.sendall(call)
            if number >= AHEAD:
                _check(_reply(connection, reader))
        for _ in range(min(AHEAD, len(calls))):
            _check(_reply(connection, reader))
        return time.perf_counter() - began


def _calls(queue: QueueKeys, number: int) -> Iterator[bytes]:
    """EVALSHA of the script that publishes, each with ids of its own."""
    operation = publish(queue, [b"x"] * BULK, PublishOptions(tries=3))
    place = operation.script.args.index("random")
    parts = [b"EVALSHA", operation.script.sha, len(operation.keys), *operation.keys, *operation.args]
    place += len(parts) - len(operation.args)
    head = b"*%d\r\n" % len(parts) + b"".join(map(_bulk, parts[:place]))
    tail = b"".join(map(_bulk, parts[place + 2 :]))
    for _ in range(number):
        random, counter = names.random_start(BULK)
        yield head + _bulk(random) + _bulk(counter) + tail


def _bulk(part: object) -> bytes:
    text = part if isinstance(part, bytes) else str(part).encode()
    return b"$%d\r\n%b\r\n" % (len(text), text)


def _reply(connection: socket.socket, reader: hiredis.Reader) -> object:
    while (reply := reader.gets()) is False:
        received = connection.recv(1 << 20)
        if not received:
            raise VoidRunError("Redis has closed the connection")
        reader.feed(received)
    return reply


def _check(reply: object) -> None:
    if not isinstance(reply, list) or reply[0] != b"ok" or len(reply) != BULK + 1:
        raise VoidRunError(f"a publish failed: {str(reply)[:200]}")
