"""Everything that taskq uses of redis-py beside its documented interface, in one place.

tests/package/test_internals.py names each attribute, and pyproject.toml caps redis-py below the first version that was
not tested. To raise the cap: `make test-newest`, then this module where that fails.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Sequence
from typing import Any, Final

from redis.exceptions import ConnectionError, MovedError

from .connection import AsyncClient, SyncClient

KEPT_MAX: Final = 8
"""Connections that are kept between calls, of one client."""

SPIN_S: Final = 0.000_25
"""For so long a caller asks for its reply again and again before it sleeps. Redis on the same machine, or in the same
rack, has answered by then, and sleeping and being woken takes longer than the call, of processor time, too: an LPUSH
took 79 µs of time and 34 of processor time with sleep, 32 and 31 without (a virtual machine of two processors)."""

SPIN_PAUSE_MAX: Final = 128
"""Calls that are not begun so, after replies that took longer: twice as many each time."""

_READ_MAX: Final = 16_384
_PROCESSORS: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OpenConnection:
    """An asyncio connection that redis-py has made: authenticated, nothing under way. `reader`: hiredis' Reader."""

    __slots__ = ("_connection", "reader", "transport")

    def __init__(self, connection: Any) -> None:
        self._connection = connection  # its writer closes the transport when it is forgotten
        self.reader: Any = connection._parser._reader
        self.transport: Any = connection._writer.transport

    def close(self) -> None:
        """Tell redis-py's objects that the connection is closed."""
        self._connection._close()


async def open_connection(client: AsyncClient) -> OpenConnection:
    """Connect to the one server that `client` talks to. Raises whatever redis-py and the event loop raise."""
    connection: Any = client.connection_pool.make_connection()
    try:
        await connection.connect()
        if await connection._parser.can_read():  # something unasked, or the end of the stream
            raise ConnectionError("Connection closed by server.")
        return OpenConnection(connection)
    except BaseException:
        with contextlib.suppress(Exception):  # uvloop's of a transport that is closed already
            connection._close()
        raise


class KeptConnections:
    """Connections of a synchronous client that stay taken from redis-py's pool between calls; for any thread.

    What the pool does for each call, its metrics and its lock, and redis-py's layers above the parser take more than
    the call itself. As long as it has them, the pool counts them as in use: it still closes them with the client, and
    marks them when they are to be made anew. They are few: others may need what the pool has, too.
    """

    def __init__(self, client: SyncClient) -> None:
        self._pool: Any = client.connection_pool
        self._most = min(KEPT_MAX, self._pool.max_connections // 2)
        self._free: list[_Kept] = []  # whose append and pop are atomic
        self._pid = os.getpid()

    def ask(self, packed: Sequence[bytes], *, commands: int) -> list[Any]:
        """The replies to packed commands that are sent together, errors of Redis as values.

        `commands`: how many they are. Raises redis-py's errors of a connection, and OSError.
        """
        kept = self._take()
        connection = kept.connection
        try:
            connection.send_packed_command(packed)
            kept.spin()
            read = connection._parser.read_response
            replies = [read() for _ in range(commands)]
        except BaseException:
            self._give_up(connection)  # its next user would read the replies to these commands
            raise
        if len(self._free) < self._most:
            self._free.append(kept)
        else:
            self._pool.release(connection)
        return replies

    def _take(self) -> _Kept:
        if self._pid != os.getpid():  # the parent's: redis-py closes them here without a word to the server
            self._free, self._pid = [], os.getpid()
        while self._free:
            try:
                kept = self._free.pop()
            except IndexError:  # another thread was faster
                break
            if kept.is_good():
                return kept
            self._give_up(kept.connection)
        return _Kept(self._pool.get_connection())

    def _give_up(self, connection: Any) -> None:
        connection.disconnect()
        self._pool.release(connection)


class _Kept:
    """A connection that is open."""

    __slots__ = ("_fd", "_pause", "_poll", "_reader", "_socket", "_to_skip", "connection")

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._socket = connection._sock
        self._reader = connection._parser._reader
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        # Not with TLS, whose bytes only its own socket can read, nor where Redis may have to wait for this processor.
        can_spin = type(self._socket) is socket.socket and self._socket.gettimeout() is not None and _PROCESSORS > 1
        self._fd = self._socket.fileno() if can_spin else -1
        self._pause = self._to_skip = 0

    def is_good(self) -> bool:
        """Whether it is still the same, and nothing came unasked: neither the stream's end nor a late reply."""
        connection = self.connection
        return connection._sock is self._socket and not connection.should_reconnect() and not self._poll.poll(0)

    def spin(self) -> None:
        """Give a reply that comes soon to the parser, without sleeping until it is there."""
        if self._fd < 0:
            return
        if self._to_skip:
            self._to_skip -= 1
            return
        ends = time.perf_counter() + SPIN_S
        while True:
            try:
                data = os.read(self._fd, _READ_MAX)
                break
            except BlockingIOError:
                if time.perf_counter() < ends:
                    continue
                self._pause = self._to_skip = min(2 * self._pause or 1, SPIN_PAUSE_MAX)
                return
        self._pause = 0
        self._reader.feed(data)  # nothing, at the stream's end: the parser will find that itself


def reconnect_all(client: SyncClient) -> None:
    """Have each connection made anew before its next command: those in use when they are returned, others now."""
    pool = client.connection_pool
    pool.update_active_connections_for_reconnect()
    pool.disconnect_free_connections()


def move_slot(client: SyncClient, error: MovedError) -> Any:
    """Note in a cluster client's map which node serves a slot now. To be awaited if the client is an asyncio one."""
    return client.nodes_manager.move_slot(error)


def renew_slot_map(client: SyncClient, suspect: str) -> Any:
    """Ask the cluster for its slots, the node `suspect` last. To be awaited if the client is an asyncio one."""
    return client.nodes_manager.initialize(last_failed_node_name=suspect)
