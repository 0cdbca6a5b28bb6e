"""A client whose n-th call to Redis fails: before its effect, after it, half-way, or with replies on their way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import hiredis
import redis

MOMENTS = ("before", "after", "half-way", "unread")


class FlakyClient:
    """Stands between an Engine and its client, and is the pool of its connections. `failing_call` counts from 1; 0 =
    never."""

    def __init__(self, client: Any, *, failing_call: int, moment: str) -> None:
        self.client = client
        self.connection_pool = self
        self.max_connections = 100
        self.failing_call = failing_call
        self.moment = moment
        self.calls = 0

    def script_load(self, source: str) -> Any:
        return self.client.script_load(source)

    def get_connection(self) -> FlakyConnection:
        return FlakyConnection(self, self.client.connection_pool.get_connection())

    def release(self, connection: FlakyConnection) -> None:
        self.client.connection_pool.release(connection.connection)

    def close(self) -> None:
        self.client.close()


class FlakyConnection:
    """A connection of the client's; what is sent by it at once is one call, however many commands."""

    def __init__(self, flaky: FlakyClient, connection: Any) -> None:
        self._flaky = flaky
        self.connection = connection
        self._sock = connection._sock
        self._parser = self
        self._reader = connection._parser._reader
        self._is_cut = False

    def should_reconnect(self) -> bool:
        return False

    def send_packed_command(self, packed: Sequence[bytes]) -> None:
        self._flaky.calls += 1
        if self._flaky.calls != self._flaky.failing_call:
            self.connection.send_packed_command(packed)
            return
        if self._flaky.moment == "unread":
            self.connection.send_packed_command(packed)
            assert self.connection.can_read(timeout=10), "no reply is on its way"
            self._is_cut = True
            return
        commands = list(_unpacked(packed))
        arriving = {"before": 0, "after": len(commands), "half-way": len(commands) // 2}[self._flaky.moment]
        for command in commands[:arriving]:
            self.connection.send_packed_command([hiredis.pack_command(tuple(command))])
            with contextlib.suppress(redis.ResponseError):
                self.connection.read_response()
        raise redis.ConnectionError("Connection closed by server.")

    def read_response(self) -> Any:
        if self._is_cut:
            raise redis.ConnectionError("Connection closed by server.")
        return self.connection._parser.read_response()

    def disconnect(self) -> None:
        self.connection.disconnect()


def _unpacked(packed: Sequence[bytes]) -> Iterator[Any]:
    """The parts of each command."""
    reader = hiredis.Reader()
    for piece in packed:
        reader.feed(piece)
    while (command := reader.gets()) is not False:
        yield command
