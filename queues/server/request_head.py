"""The head of a request as an ASGI application sees it: target, addresses, scope; and why a head is refused."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote_to_bytes

import httptools

BAD_REQUEST: Final = (400, b"not an HTTP/1.1 request")
BAD_TARGET: Final = (400, b"not a request target; bytes that are not ASCII have to be percent-encoded")
HEAD_TOO_SLOW: Final = (408, b"the request took too long to arrive")
HEAD_TOO_LARGE: Final = (431, b"headers too large")
UNKNOWN_METHOD: Final = (501, b"method not implemented")
UNKNOWN_VERSION: Final = (505, b"HTTP version not supported")
UNKNOWN_BEGINNING: Final = (503, b"not done: send it again, after the answers to the requests before it")
"""A page is asked for right behind a chunked body, in the same bytes: where that request begins is not known."""

Reason = tuple[int, bytes]

TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json; charset=utf-8\r\nretry-after: 1\r\n"
    b'connection: close\r\ncontent-length: 32\r\n\r\n{"error":"too many connections"}'
)
"""What a client is told when TASKQ_WORKER_CONNECTIONS are there."""

EMPTY_SCOPE: Final[dict[str, Any]] = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.3"},
    "http_version": "",
    "method": "",
    "scheme": "http",
    "path": "",
    "raw_path": b"",
    "query_string": b"",
    "root_path": "",
    "headers": (),
    "client": None,
    "server": None,
    "extensions": {},
}
"""What an application is told of a request. To copy it takes a third of the time that it takes to make one anew."""

_PERCENT: Final = ord("%")  # bytes are looked for in bytes far more slowly than a number is


class RefusedError(Exception):
    """Raised while a request's head is looked at; `reason` is what its client will be told."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


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
