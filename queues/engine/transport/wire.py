"""The way to one server for commands whose replies come in order, written and read without redis-py's pipeline.

redis-py connects: it knows addresses, TLS, passwords, Sentinels. From then on its objects only cost: a task, a stream
and a time limit for each reply. Here a batch is one write, and its replies are handed over as they arrive.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final

from redis.exceptions import ConnectionError

from .connection import AsyncClient
from .failures import connection_error
from .link import LateReplies, Link
from .redis_internals import open_connection

LEAVING_MAX: Final = 8
"""Connections that take no more commands and wait for replies. A server that pauses again and again costs no more."""


class Wire:
    """Connects when first used, and again when the connection was lost. `client` talks to one server alone."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._link: Link | None = None
        self._leaving: list[Link] = []
        """Connections that take no more commands, and still have replies to come."""
        self._connecting: asyncio.Task[Link] | None = None
        self._closed = False

    async def call(self, packed: Sequence[bytes], late: LateReplies | None = None, *, commands: int = 0) -> list[Any]:
        """The replies to packed commands in order, errors of Redis as values. Raises redis-py's errors of a connection.

        Then nothing is known of the commands: they may have been carried out, or be carried out later on. If replies
        come after all, `late` gets them. `commands`: that `packed` is the pieces of.
        """
        if not packed:
            return []
        link = self._link
        if link is None or link.is_lost:
            link = await self._connected()
        return await link.send(packed, late, commands=commands)

    def renew(self) -> None:
        """Connect anew for the next call. What is under way comes to its end on the connection that it is on."""
        link, self._link = self._link, None
        if link is not None:
            link.retire()
            self._let_go(link)

    def close(self) -> None:
        """Close the connection, for good."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        for link in (self._link, *self._leaving):
            if link is not None:
                link.lose(ConnectionError("Connection closed"))

    def _let_go(self, link: Link) -> None:
        """Keep an eye on a connection until its last reply."""
        self._leaving = [leaving for leaving in (*self._leaving, link) if not leaving.is_closed]
        while len(self._leaving) > LEAVING_MAX:
            self._leaving.pop(0).lose(ConnectionError("Connection closed"))

    async def _connected(self) -> Link:
        """All who wait share one attempt."""
        if self._closed:
            raise ConnectionError("Connection closed")
        connecting = self._connecting
        if connecting is None:
            connecting = self._connecting = self._loop.create_task(self._connect())
            connecting.add_done_callback(self._note_connected)
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            if connecting.cancelled():
                raise ConnectionError("Connection closed") from None
            raise

    async def _connect(self) -> Link:
        try:
            connection = await open_connection(self._client)
            try:
                if self._closed:
                    raise ConnectionError("Connection closed")
                return Link(connection)
            except Exception:
                with contextlib.suppress(Exception):  # uvloop's of a transport that is closed already
                    connection.close()
                raise
        except Exception as error:
            lost = connection_error(error)
            raise lost from lost.__cause__

    def _note_connected(self, connecting: asyncio.Task[Link]) -> None:
        self._connecting = None
        if connecting.cancelled() or connecting.exception():  # asking is hearing: all who waited may have gone
            return
        before, self._link = self._link, connecting.result()
        if before is not None:
            self._let_go(before)
        if self._closed:
            self.close()
