"""X-Request-ID: on every response, so that a client's report can be matched with a log line."""

from __future__ import annotations

import itertools
import os
import re
from typing import Final

HEADER: Final = b"x-request-id"
_SANE: Final = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}\Z")


class _Ids:
    """32 hexadecimal digits: 20 that are the process's own, and a count. A system call for each would cost too much."""

    def __init__(self) -> None:
        self._prefix = os.urandom(10).hex().encode()
        self._numbers = itertools.count(int.from_bytes(os.urandom(4), "big"))

    def next(self) -> bytes:
        return b"%b%012x" % (self._prefix, next(self._numbers))


_ids = _Ids()


def _begin_anew() -> None:
    global _ids
    _ids = _Ids()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def choose_request_id(sent: bytes) -> bytes:
    """The client's own id if it can be logged and sent back as it is, else a new one: 32 hexadecimal digits."""
    return sent if sent and _SANE.match(sent) else _ids.next()
