"""X-Request-ID: on every response, so that a client's report can be matched with a log line."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from typing import Final

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
