"""X-Request-ID: on every response, so that a client's report can be matched with a log line."""

from __future__ import annotations

import os
import re
from typing import Final

HEADER: Final = b"x-request-id"
_SANE: Final = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}\Z")


def choose_request_id(sent: bytes) -> bytes:
    """The client's own id if it can be logged and sent back as it is, else a new one: 32 hexadecimal digits."""
    return sent if _SANE.match(sent) else os.urandom(16).hex().encode()
