"""A TCP proxy to a Redis that fails as networks do. It runs in threads, so it serves every kind of client."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final

_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: closing discards what is unsent and sends RST."""


class Failure(Enum):
    """What becomes of connections, those that are open and those to come."""

    NONE = "passes everything on"
    RESET = "resets each connection as it is accepted"
    CLOSE = "closes each connection as it is accepted"
    REFUSE = "does not listen"
    SILENCE = "accepts, and passes nothing on"
    HALF_REPLY = "passes half of the first reply on, then closes"


class TcpProxy:
    """Listens on a port of 127.0.0.1 and connects each client to a Unix socket."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._failure = Failure.NONE
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept, self._listener)

    def fail(self, failure: Failure) -> None:
        """Fail in this way from now on. Connections that are open end, those of SILENCE stay."""
        self._failure = failure
        if failure is Failure.REFUSE:
            _end(self._listener)
        if failure is not Failure.SILENCE:
            self.cut()

    def recover(self) -> None:
        """Pass everything on again."""
        refused = self._failure is Failure.REFUSE
        self.fail(Failure.NONE)
        if refused:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._start(self._accept, self._listener)

    def cut(self) -> None:
        """Reset every connection."""
        with self._lock:
            ending, self._open = self._open, set()
        for end in ending:
            _reset(end)

    def close(self) -> None:
        self._failure = Failure.REFUSE
        _end(self._listener)
        self.cut()

    def _start(self, work: object, *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self._failure is Failure.RESET:
                _reset(client)
            elif self._failure is Failure.CLOSE:
                client.close()
            else:
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        with self._lock:
            self._open |= {client, server}
        self._start(self._carry, client, server, False)
        self._start(self._carry, server, client, True)

    def _carry(self, source: socket.socket, target: socket.socket, replies: bool) -> None:
        with contextlib.suppress(OSError):
            while said := source.recv(65_536):
                if self._failure is Failure.SILENCE:
                    continue
                if replies and self._failure is Failure.HALF_REPLY:
                    target.sendall(said[: len(said) // 2])
                    break
                target.sendall(said)
        for end in (source, target):
            _end(end)


def _end(end: socket.socket) -> None:
    """Close a socket that another thread may be reading: closing alone would not wake it."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _reset(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        end.close()


@contextmanager
def tcp_proxy(server: str) -> Iterator[TcpProxy]:
    """A proxy to the Redis at a Unix socket's path."""
    proxy = TcpProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()
