"""A keep-alive connection with as little of its own as can be: one blocking socket, requests and answers apart.

http.client spends more time on a request than the service does, and can neither send one and read later nor hang up.
"""

from __future__ import annotations

import json
import re
import socket
from typing import Any

from .servers import Service

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_CHUNK = 65_536


class HungUpError(ConnectionError):
    """The server closed the connection before its answer was complete."""


class Wire:
    """Speaks to one service. Every method raises OSError when the connection is gone, TimeoutError included."""

    def __init__(self, service: Service, *, timeout_s: float = 30.0) -> None:
        self._head = f"Host: {service.host}\r\nX-Token: {service.token}\r\n"
        self._prefix = f"/api/{service.namespace}/"
        self.socket = socket.create_connection((service.host, service.port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method: str, path: str, body: bytes = b"") -> None:
        """Send a request below the namespace."""
        head = f"{method} {self._prefix}{path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)

    def receive(self) -> tuple[int, Any]:
        """The answer to the oldest request: status, and decoded JSON or None."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        while len(body) < (int(length[1]) if length else 0):
            body += self._more()
        return int(head[9:12]), json.loads(body) if body else None

    def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """Send and receive."""
        self.send(method, path, body)
        return self.receive()

    def hang_up(self) -> tuple[int, Any] | None:
        """Close. Returns an answer that had come before, None if there was none.

        The end of the connection is sent before the look at what has come: an answer that this does not find was
        written to a connection whose end the server's side had already received. Linux resets it then.
        """
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.setblocking(False)
        try:
            return self.receive()
        except (BlockingIOError, ConnectionError):
            return None
        finally:
            self.socket.close()

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def _more(self) -> bytes:
        data = self.socket.recv(_CHUNK)
        if not data:
            raise HungUpError("the server hung up")
        return data
