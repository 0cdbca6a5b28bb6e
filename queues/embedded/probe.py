"""Asks a Redis whether it is there, with a bare socket."""

from __future__ import annotations

import socket
from enum import StrEnum
from pathlib import Path


class Answer(StrEnum):
    """What a server said to PING. `LOADING`: it is reading its data and will answer later."""

    READY = "ready"
    LOADING = "loading"
    NOTHING = "nothing"


def ask(unix_socket: Path, *, timeout_s: float = 1.0) -> Answer:
    """Send PING to the server that listens on `unix_socket`."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(unix_socket))
            connection.sendall(b"PING\r\n")
            reply = connection.recv(64)
    except OSError:
        return Answer.NOTHING
    if reply.startswith(b"+PONG"):
        return Answer.READY
    return Answer.LOADING if reply.startswith(b"-LOADING") else Answer.NOTHING
