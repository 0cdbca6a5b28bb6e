"""Headers that somebody has chosen for requests: checked, and written so that they can be nothing but headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

HEADERS_MAX: Final = 20
NAME_MAX_CHARS: Final = 64
VALUE_MAX_CHARS: Final = 1_024

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE: Final = re.compile(r"[ -~]*\Z")
_RESERVED: Final = frozenset(
    "connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()  # noqa: SIM905
)
_RESERVED_STARTS: Final = ("webhook-", "taskq-", "job-attr-", "proxy-")


class HeaderError(ValueError):
    """What is wrong with headers. The message repeats names only: a value may be a password."""


def check_headers(headers: object) -> dict[str, str]:
    """The headers, a mapping of names to values, if they can be sent. Raises HeaderError."""
    if not isinstance(headers, dict):
        raise HeaderError("headers must be an object of names and texts")
    if len(headers) > HEADERS_MAX:
        raise HeaderError(f"more than {HEADERS_MAX} headers")
    seen: set[str] = set()
    for name, value in headers.items():
        if not isinstance(name, str) or len(name) > NAME_MAX_CHARS or not _NAME.match(name):
            raise HeaderError(f"a header's name consists of 1 to {NAME_MAX_CHARS} letters, digits and -")
        lowered = name.lower()
        if lowered in _RESERVED or lowered.startswith(_RESERVED_STARTS):
            raise HeaderError(f"the header {name} is set by taskq itself")
        if lowered in seen:
            raise HeaderError(f"the header {name} occurs twice")
        seen.add(lowered)
        if not isinstance(value, str) or len(value) > VALUE_MAX_CHARS or not _VALUE.match(value):
            raise HeaderError(f"the value of {name} must be a text of at most {VALUE_MAX_CHARS:,} ASCII characters")
    return headers


def is_token(text: str) -> bool:
    """Whether a text may be the name of a header."""
    return _NAME.match(text) is not None


def escape_value(text: str) -> str:
    """A text as the value of a header: what is not printable ASCII, and %, percent-encoded as UTF-8."""
    if _VALUE.match(text) and "%" not in text:
        return text
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte != 0x25 else f"%{byte:02X}"
        for byte in text.encode("utf-8", "replace")
    )


def write_headers(headers: Iterable[tuple[str, str]]) -> bytes:
    """The lines, each with its CRLF. Values have been checked or escaped."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("ascii")
