"""A connection to one server that reconnects; commands are written and replies read without redis-py's pipeline.

redis-py connects: it knows addresses, TLS, passwords, Sentinels. From then on its objects only cost: a task, a stream
and a time limit for each reply. Here a batch is one write, and its replies are handed over as they arrive.

Late replies come when their callers have been told that there are none; what they brought is taken back. A Redis that
is paused (SIGSTOP, CLIENT PAUSE, a frozen machine) carries out afterwards what was in its sockets. By then the callers
have got StoreUnavailableError, and a job that such a consume delivers would have no consumer until its lease ends, with
a try burned. So the connection stays open (see `resp_protocol`), and the late reply is undone as for a cancelled
caller. A reply that never comes (this process ended, the connection was cut) leaves it to the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from hiredis import pack_command
from redis.exceptions import ConnectionError

from ..operation import Operation, Reply
from .connection import AsyncClient
from .failures import connection_error, is_from_replica, raise_if_cancelled, same_for_all
from .merging import Call, MergedCall, spread
from .redis_internals import open_connection
from .replication import ReplicaWait, UnconfirmedError
from .resp_protocol import LateReplies, RespProtocol, packed, packed_in_pieces

logger = logging.getLogger("taskq.engine")

TakeBack: TypeAlias = Callable[[Operation[Any], Reply], None]

LEAVING_MAX: Final = 8
"""Connections that take no more commands and wait for replies. A server that pauses again and again costs no more."""


class LateCalls:
    """The calls of one batch, and how they were merged."""

    __slots__ = ("_batch", "_merged", "_take_back")

    def __init__(self, batch: Sequence[Call], merged: Sequence[MergedCall], take_back: TakeBack) -> None:
        self._batch = batch
        self._merged = merged
        self._take_back = take_back

    def of(self, sent: Sequence[Operation[Any]]) -> LateBatch:
        """What takes late replies to those of the merged operations that were sent together."""
        return LateBatch(self, sent)

    def can_be_undone(self) -> bool:
        """Whether any of the calls brings something that can be taken back."""
        return any(operation.undo is not None for operation, _ in self._batch)

    def undo(self, sent: Sequence[Operation[Any]], replies: list[Reply]) -> None:
        """Take back what late replies brought. What was taken last is put back first: each job goes to the head.

        Callers that ask the same may share one operation, though each makes its own call.
        """
        merged_of: dict[int, deque[MergedCall]] = {}
        for call in self._merged:
            merged_of.setdefault(id(call.operation), deque()).append(call)
        merged = [merged_of[id(operation)].popleft() for operation in sent]
        parts = spread(merged, replies, len(self._batch))
        places = [place for one in merged for place in one.places]
        logger.info("late replies are taken back", extra={"action": "undo_late", "calls": len(places)})
        for place in reversed(places):
            self._take_back(self._batch[place][0], parts[place])


class LateBatch:
    """`protocol.LateReplies` of what was sent in one write."""

    __slots__ = ("_calls", "_sent")

    def __init__(self, calls: LateCalls, sent: Sequence[Operation[Any]]) -> None:
        self._calls = calls
        self._sent = sent

    def are_needed(self) -> bool:
        return self._calls.can_be_undone()

    def take(self, replies: list[Reply]) -> None:
        self._calls.undo(self._sent, replies)


class RedisConnection:
    """Connects when first used, and again when the connection was lost. `client` talks to one server alone."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._protocol: RespProtocol | None = None
        self._leaving: list[RespProtocol] = []
        """Connections that take no more commands, and still have replies to come."""
        self._connecting: asyncio.Task[RespProtocol] | None = None
        self._closed = False

    async def call(self, packed: Sequence[bytes], late: LateReplies | None = None, *, commands: int = 0) -> list[Any]:
        """The replies to packed commands in order, errors of Redis as values. Raises redis-py's errors of a connection.

        Then nothing is known of the commands: they may have been carried out, or be carried out later on. If replies
        come after all, `late` gets them. `commands`: that `packed` is the pieces of.
        """
        if not packed:
            return []
        protocol = self._protocol
        if protocol is None or protocol.is_lost:
            protocol = await self._connected()
        return await protocol.send(packed, late, commands=commands)

    def renew(self) -> None:
        """Connect anew for the next call. Commands under way get their replies on the old connection."""
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.retire()
            self._await_last_replies(protocol)

    def close(self) -> None:
        """Close the connection, for good."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        for protocol in (self._protocol, *self._leaving):
            if protocol is not None:
                protocol.lose(ConnectionError("Connection closed"))

    def _await_last_replies(self, protocol: RespProtocol) -> None:
        """Keep a connection that takes no more commands until its last reply."""
        self._leaving = [leaving for leaving in (*self._leaving, protocol) if not leaving.is_closed]
        while len(self._leaving) > LEAVING_MAX:
            self._leaving.pop(0).lose(ConnectionError("Connection closed"))

    async def _connected(self) -> RespProtocol:
        """All callers that wait share one attempt to connect."""
        if self._closed:
            raise ConnectionError("Connection closed")
        connecting = self._connecting
        if connecting is None:
            connecting = self._connecting = self._loop.create_task(self._connect())
            connecting.add_done_callback(self._note_connected)
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            raise_if_cancelled()
            if connecting.cancelled():
                raise ConnectionError("Connection closed") from None
            raise

    async def _connect(self) -> RespProtocol:
        try:
            opened = await open_connection(self._client)
            try:
                if self._closed:
                    raise ConnectionError("Connection closed")
                return RespProtocol(opened)
            except Exception:
                with contextlib.suppress(Exception):  # uvloop's of a transport that is closed already
                    opened.close()
                raise
        except Exception as error:
            lost = connection_error(error)
            raise lost from lost.__cause__

    def _note_connected(self, connecting: asyncio.Task[RespProtocol]) -> None:
        self._connecting = None
        # The exception is read, or else asyncio logs it when all callers are gone.
        if connecting.cancelled() or connecting.exception():
            return
        before, self._protocol = self._protocol, connecting.result()
        if before is not None:
            self._await_last_replies(before)
        if self._closed:
            self.close()


async def load_and_send(
    connection: RedisConnection, operations: list[Operation[Any]], late: LateCalls, wait: ReplicaWait | None
) -> list[Any]:
    """As `send_operations`, after the server has been given the scripts."""
    sources = {operation.script.source for operation in operations}
    loads: list[Any] = [("SCRIPT", "LOAD", source) for source in sources]
    try:
        await connection.call([pack_command(load) for load in loads])
    except Exception as error:
        return same_for_all(error, operations)
    return await send_operations(connection, operations, late, wait)


async def send_operations(
    connection: RedisConnection, operations: list[Operation[Any]], late: LateCalls, wait: ReplicaWait | None
) -> list[Any]:
    """The replies to operations that are written at once; errors of Redis, and of the connection, are values."""
    is_large = operations[0].alone
    try:
        commands = packed_in_pieces(operations[0]) if is_large else [packed(operation) for operation in operations]
    except Exception:
        return await _send_what_can_be(connection, operations, late, wait)
    try:
        if wait is None:
            replies = await connection.call(commands, late.of(operations), commands=int(is_large))
        else:
            replies = wait.check(await connection.call([*commands, wait.packed], commands=2 * is_large))
    except Exception as error:
        return same_for_all(error, operations)
    if any(is_from_replica(reply) or isinstance(reply, UnconfirmedError) for reply in replies):
        connection.renew()  # on a new connection a Sentinel says which server is the master
    return replies


async def _send_what_can_be(
    connection: RedisConnection, operations: list[Operation[Any]], late: LateCalls, wait: ReplicaWait | None
) -> list[Any]:
    """One of them has an argument that no command can carry: an error for that one alone."""
    replies: list[Any] = [None] * len(operations)
    good: list[int] = []
    for place, operation in enumerate(operations):
        try:
            packed(operation)
            good.append(place)
        except Exception as error:
            replies[place] = error
    if good:
        sent = await send_operations(connection, [operations[place] for place in good], late, wait)
        for place, reply in zip(good, sent, strict=True):
            replies[place] = reply
    return replies
