"""Everything that taskq uses of redis-py beside its documented interface, in one place.

tests/package/test_internals.py names each attribute, and pyproject.toml caps redis-py below the first version that was
not tested. To raise the cap: `make test-newest`, then this module where that fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from redis.exceptions import ConnectionError, MovedError, ResponseError

from .connection import AsyncClient, SyncClient


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


def ask_at_once(client: SyncClient, packed: Sequence[bytes], *, commands: int) -> list[Any]:
    """The replies to packed commands that are sent together, errors of Redis as values.

    As a pipeline of redis-py, in less than half of its time. `commands`: how many they are. Raises redis-py's errors of
    a connection.
    """
    pool = client.connection_pool
    connection: Any = pool.get_connection()
    try:
        connection.send_packed_command(packed)
        return [_reply_on(connection) for _ in range(commands)]
    except BaseException:
        connection.disconnect()  # its next user would read the replies to these commands
        raise
    finally:
        pool.release(connection)


def _reply_on(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def reconnect_all(client: SyncClient) -> None:
    """Have each connection made anew before its next command: those in use when they are returned, others now."""
    pool = client.connection_pool
    pool.update_active_connections_for_reconnect()
    pool.disconnect_free_connections()


def move_slot(client: SyncClient, error: MovedError) -> Any:
    """Note in a cluster client's map who serves a slot now. To be awaited if the client is an asyncio one."""
    return client.nodes_manager.move_slot(error)


def renew_slot_map(client: SyncClient, suspect: str) -> Any:
    """Ask the cluster who serves what, the node `suspect` last. To be awaited if the client is an asyncio one."""
    return client.nodes_manager.initialize(last_failed_node_name=suspect)
