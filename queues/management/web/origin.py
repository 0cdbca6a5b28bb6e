"""What the pages process is told of a request's client: by a header that only our own forwarder can send it.

Its socket lies in a directory that is closed to other users, and the forwarder drops what clients send by that name.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Final

HEADER: Final = b"x-taskq-origin"
_NOBODY: Final = b"-"


def describe(scope: MutableMapping[str, Any]) -> bytes:
    """The header's value: scheme, then host and port of client and server."""
    words = [scope["scheme"].encode()]
    for address in (scope.get("client"), scope.get("server")):
        words += (_NOBODY, _NOBODY) if address is None else (address[0].encode(), b"%d" % (address[1] or 0))
    return b" ".join(words)


def restore(scope: MutableMapping[str, Any]) -> None:
    """Take the header out of `scope`, and what it says into it."""
    headers = scope["headers"]
    told = next((value for name, value in headers if name == HEADER), None)
    if told is None:
        return
    scheme, *words = told.decode().split(" ")
    client_host, client_port, server_host, server_port = words
    scope["headers"] = [header for header in headers if header[0] != HEADER]
    scope["scheme"] = scheme
    scope["client"] = _address(client_host, client_port)
    scope["server"] = _address(server_host, server_port)


def _address(host: str, port: str) -> tuple[str, int] | None:
    return None if host == _NOBODY.decode() else (host, int(port))
