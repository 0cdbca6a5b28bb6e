"""Cuts error texts to what a job keeps of them."""

from __future__ import annotations

import re
from typing import Final

from .constants import ERROR_MAX_BYTES

_LEFT_OUT: Final = b"\n  \xe2\x80\xa6\n"
"""Between head and tail: indented, as calls are, so that nobody takes it for the line of a Python exception."""

_HEAD_BYTES: Final = ERROR_MAX_BYTES // 2
_TAIL_BYTES: Final = ERROR_MAX_BYTES - _HEAD_BYTES - len(_LEFT_OUT)

_TRACEBACK: Final = b"Traceback (most recent call last):"
_NOT_INDENTED: Final = re.compile(rb"\n(?=\S)")


def cut_error(text: str) -> bytes:
    """The text as UTF-8, of ERROR_MAX_BYTES at most: of one that is longer the first and the last lines.

    Python prints the exception last, most other languages first. The tail begins with the line of the exception where
    its message is too long to be kept up to its end. Of a single line the head is kept.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) > ERROR_MAX_BYTES:
        raw = raw.strip()
    if len(raw) <= ERROR_MAX_BYTES:
        return raw
    if b"\n" not in raw:
        return _whole_characters(raw[:ERROR_MAX_BYTES])
    head = raw[:_HEAD_BYTES]
    if (line_end := head.rfind(b"\n")) > 0:
        head = head[:line_end]
    start = raw.find(b"\n", len(raw) - _TAIL_BYTES - 1) + 1 or raw.rfind(b"\n") + 1
    traceback = raw.rfind(_TRACEBACK)
    exception = _NOT_INDENTED.search(raw, traceback) if traceback >= 0 else None
    if exception is not None and len(head) <= exception.start() < start:
        start = exception.end()
    return _whole_characters(head) + _LEFT_OUT + _whole_characters(raw[start : start + _TAIL_BYTES])


def _whole_characters(part: bytes) -> bytes:
    return part.decode("utf-8", "ignore").encode()
