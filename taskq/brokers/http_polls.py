"""The connections by which jobs are consumed over HTTP: one each, so that a consume can be ended by hanging up."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


class Poll:
    """A client with one connection, which consumes one after the other, and that connection's socket."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.has_hung_up = False
        self._stream: Any = None

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpcore: https://www.encode.io/httpcore/extensions/#trace."""
        if event == "connection.connect_tcp.started":
            self._stream = None
        elif event == "connection.connect_tcp.complete":
            self._stream = info["return_value"]

    def hang_up(self) -> bool:
        """Close the sending half of the connection. False: there is none, so that nothing can have been sent."""
        self.has_hung_up = True
        if self._stream is None:
            return False
        try:
            # A copy, since what an event loop hands out may not know `shutdown` (uvloop's does not).
            with socket.fromfd(
                self._stream.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM
            ) as copy:
                copy.shutdown(socket.SHUT_WR)
        except (OSError, AttributeError):  # closed already
            return False
        return True
