"""A response as operations give it: status, headers, and bytes that are ready to be sent.

Every response carries X-Request-ID, so that a client's report can be matched with a log line.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import orjson

Header = tuple[bytes, bytes]

JSON_TYPE: Final[Header] = (b"content-type", b"application/json; charset=utf-8")
RAW_TYPE: Final[Header] = (b"content-type", b"application/octet-stream")
TEXT_TYPE: Final[Header] = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
NO_SNIFFING: Final[Header] = (b"x-content-type-options", b"nosniff")
_JSON_HEADERS: Final = (JSON_TYPE, NO_SNIFFING)


class ApiResponse(NamedTuple):
    """What to send. `headers`: lower-case names, without Content-Length and X-Request-ID: sending adds these.
    `on_undelivered`: what to call if the client disconnects without having read this.

    A tuple, since one is made for every request.
    """

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()
    on_undelivered: Callable[[], None] | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it is a 2xx."""
        return 200 <= self.status < 300


NO_CONTENT: Final = ApiResponse(204)


def json_response(
    status: int, value: Any, *headers: Header, on_undelivered: Callable[[], None] | None = None
) -> ApiResponse:
    """`value` as JSON."""
    all_headers = (*_JSON_HEADERS, *headers) if headers else _JSON_HEADERS
    return ApiResponse(status, orjson.dumps(value), all_headers, on_undelivered)


def raw_response(status: int, body: bytes) -> ApiResponse:
    """Bytes that somebody stored: served so that no browser takes them for a page of ours."""
    return ApiResponse(status, body, (RAW_TYPE, NO_SNIFFING))


def text_response(status: int, text: str) -> ApiResponse:
    """Prometheus' text format."""
    return ApiResponse(status, text.encode(), (TEXT_TYPE, NO_SNIFFING))


HEADER: Final = b"x-request-id"
_SANE: Final = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}\Z")


def _new_ids() -> Iterator[bytes]:
    """32 hexadecimal digits: 20 that are the process's own, and a count. A system call for each would cost too much."""
    form = os.urandom(10).hex().encode() + b"%012x"
    return map(form.__mod__, itertools.count(int.from_bytes(os.urandom(4), "big")))


_ids = _new_ids()


def _begin_anew() -> None:
    global _ids
    _ids = _new_ids()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def choose_request_id(sent: bytes | None) -> bytes:
    """The client's own id if it can be logged and sent back as it is, else a new one: 32 hexadecimal digits."""
    return sent if sent and _SANE.match(sent) else next(_ids)
