"""A connection to one server for commands whose replies come in order, read and written without redis-py's pipeline.

redis-py connects: it knows addresses, TLS, passwords, Sentinels. From then on its objects only cost: a task, a stream
and a time limit for each reply. Here a batch is one write, and its replies are handed over as they arrive.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from hiredis import pack_command
from redis.exceptions import ConnectionError, InvalidResponse, TimeoutError

from .connection import REPLY_TIMEOUT_S, AsyncClient

Command = tuple[Any, ...]


class _Batch:
    """Commands that were sent together."""

    __slots__ = ("future", "left", "replies", "sent_at")

    def __init__(self, future: asyncio.Future[list[Any]], commands: int, sent_at: float) -> None:
        self.future = future
        self.left = commands
        self.replies: list[Any] = []
        self.sent_at = sent_at


class Wire(asyncio.Protocol):
    """Connects when first used, and again when the connection was lost. `client` talks to one server alone."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._connection: Any = None
        self._transport: Any = None
        self._reader: Any = None
        self._incomplete: object = None
        self._waiting: deque[_Batch] = deque()
        self._connecting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def call(self, commands: Sequence[Command]) -> list[Any]:
        """The replies in order, errors of Redis as values. Raises redis-py's errors of a connection.

        Then nothing is known of the commands: they may have been carried out.
        """
        if not commands:
            return []
        while self._transport is None:
            if self._connecting is None:
                self._connecting = self._loop.create_task(self._connect())
            await asyncio.shield(self._connecting)
        now = self._loop.time()
        batch = _Batch(self._loop.create_future(), len(commands), now)
        self._transport.write(b"".join([pack_command(command) for command in commands]))
        self._waiting.append(batch)
        if self._timer is None:
            self._timer = self._loop.call_at(now + REPLY_TIMEOUT_S, self._check_time)
        return await batch.future

    def close(self) -> None:
        """Close the connection; a later call connects anew."""
        self._lose(ConnectionError("Connection closed"))

    async def _connect(self) -> None:
        try:
            connection: Any = self._client.connection_pool.make_connection()
            await connection.connect()
            self._connection = connection  # its writer closes the transport when it is forgotten
            self._reader = connection._parser._reader
            self._incomplete = self._reader.gets()  # what it answers when there is nothing
            transport = connection._writer.transport
            transport.set_protocol(self)
            if transport.is_closing():
                raise ConnectionError("Connection closed by server.")
            self._transport = transport
        finally:
            self._connecting = None

    def data_received(self, data: bytes) -> None:
        """For the event loop."""
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not self._incomplete:
                batch = self._waiting[0]
                batch.replies.append(reply)
                batch.left -= 1
                if not batch.left:
                    self._waiting.popleft()
                    if not batch.future.done():
                        batch.future.set_result(batch.replies)
        except (InvalidResponse, IndexError) as error:
            self._lose(ConnectionError(f"not what Redis says: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        """For the event loop."""
        self._lose(ConnectionError(f"Connection lost: {error}" if error else "Connection closed by server."))

    def _check_time(self) -> None:
        """Of all that wait, the first has waited for longest."""
        self._timer = None
        if not self._waiting:
            return
        ends_at = self._waiting[0].sent_at + REPLY_TIMEOUT_S
        if self._loop.time() >= ends_at:
            self._lose(TimeoutError("Timeout reading from socket"))
        else:
            self._timer = self._loop.call_at(ends_at, self._check_time)

    def _lose(self, error: Exception) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
        self._connection = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lost, self._waiting = self._waiting, deque()
        for batch in lost:
            if not batch.future.done():
                batch.future.set_exception(error)
