"""A request on its way to the pages process: ASGI messages in, HTTP/1.1 out."""

from __future__ import annotations

import asyncio
from typing import Final

from queues.api.asgi import SCOPE_KEY
from queues.api.asgi_types import Receive, Scope
from queues.api.request_ids import HEADER as REQUEST_ID

from . import origin

_OF_ONE_HOP: Final = frozenset(
    {
        b"connection",
        b"expect",  # the body is asked for in any case
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_RELAYED: Final = _OF_ONE_HOP | {REQUEST_ID, origin.HEADER}  # which are set anew


async def relay_request(scope: Scope, receive: Receive, writer: asyncio.StreamWriter) -> bool:
    """Write it, piece by piece as the other side takes it; then wait, and hang up as soon as the client does.

    True: the client has gone. False: the other side has.
    """
    is_chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
    try:
        writer.write(_head(scope, is_chunked=is_chunked))
        has_more = True
        while (message := await receive())["type"] != "http.disconnect":
            if not has_more:
                continue
            has_more = message.get("more_body", False)
            writer.write(_piece(message.get("body", b""), is_chunked=is_chunked, is_last=not has_more))
            await writer.drain()
        writer.transport.abort()
    except (ConnectionError, RuntimeError):  # the latter is uvloop's, of a transport that is closed
        return False  # what it has said before is read all the same
    return True


def _head(scope: Scope, *, is_chunked: bool) -> bytes:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [
        b"%b %b HTTP/1.1" % (scope["method"].encode(), target),
        *(b"%b: %b" % header for header in scope["headers"] if header[0] not in _NOT_RELAYED),
        b"%b: %b" % (REQUEST_ID, scope[SCOPE_KEY].request_id),
        b"%b: %b" % (origin.HEADER, origin.describe(scope)),
        b"connection: close",
    ]
    if is_chunked:
        lines.append(b"transfer-encoding: chunked")
    return b"\r\n".join([*lines, b"", b""])


def _piece(body: bytes, *, is_chunked: bool, is_last: bool) -> bytes:
    if not is_chunked:
        return body
    return (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"0\r\n\r\n" if is_last else b"")
