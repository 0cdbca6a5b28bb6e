"""What a request's target and a socket's addresses are to an ASGI application."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote_to_bytes

import httptools

_PERCENT: Final = ord("%")  # bytes are looked for in bytes far more slowly than a number is


def split_target(target: bytes) -> tuple[bytes, bytes]:
    """Path and query of a request's target, which may be a whole URL when the client takes us for a proxy."""
    if not target.startswith(b"/"):
        try:
            parsed = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            return target, b""
        return parsed.path or b"/", parsed.query or b""
    path, _, query = target.partition(b"#")[0].partition(b"?")
    return path, query


def decode_path(path: bytes) -> str:
    """Percent-decoded; what is not UTF-8 becomes replacement characters."""
    raw = unquote_to_bytes(path) if _PERCENT in path else path
    return raw.decode("utf-8", "replace")


def address_of(transport: Any, which: str) -> tuple[str, int] | None:
    """Host and port of a transport's "sockname" or "peername"; None when there are none (any more)."""
    address = transport.get_extra_info(which)
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
