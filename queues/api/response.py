"""A response as the operations give it: status, headers, and bytes that are ready to be sent."""

from __future__ import annotations

from collections.abc import Callable
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
