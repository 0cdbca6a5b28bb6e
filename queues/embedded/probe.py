"""Asks a Redis whether it is there, with a bare socket."""

from __future__ import annotations

import socket
from enum import StrEnum
from pathlib import Path


class Answer(StrEnum):
    """What a server said to PING.

    `LOADING`: it is reading its data and will serve later. `ERROR`: it replied with another error, such as MISCONF (it
    cannot write its append-only file: the disk is full). `NOTHING`: no reply.
    """

    READY = "ready"
    LOADING = "loading"
    ERROR = "error"
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
    if reply.startswith(b"-LOADING"):
        return Answer.LOADING
    return Answer.ERROR if reply.startswith(b"-") else Answer.NOTHING
