"""Rules for the names of namespaces, queues and consumers."""

from __future__ import annotations

import re
from functools import lru_cache

from .errors import InvalidArgumentError
from .limits import CONSUMER_MAX_BYTES, NAME_MAX_BYTES, WORKFLOW_ID_MAX

_NAME = re.compile(r"[-_A-Za-z0-9]+\Z")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


def is_name(text: str) -> bool:
    """Whether `text` consists of the allowed characters only (its length is not looked at)."""
    return _NAME.match(text) is not None


@lru_cache(maxsize=4096)
def check_namespace(name: str) -> None:
    """Raise InvalidArgumentError with the contract's words unless `name` may name a namespace."""
    if len(name.encode("utf-8", "surrogatepass")) > NAME_MAX_BYTES:
        raise InvalidArgumentError("namespace or queue name too long")
    if not is_name(name):
        raise InvalidArgumentError("namespace name contains forbidden characters")


@lru_cache(maxsize=4096)
def check_queue(name: str) -> None:
    """Raise InvalidArgumentError with the contract's words unless `name` may name a queue."""
    if len(name.encode("utf-8", "surrogatepass")) > NAME_MAX_BYTES:
        raise InvalidArgumentError("namespace or queue name too long")
    if name.startswith("_") or not is_name(name):
        raise InvalidArgumentError("queue name contains forbidden characters")


def check_workflow_id(text: str) -> None:
    """Raise InvalidArgumentError unless `text` may be the id of a workflow."""
    if not 1 <= len(text) <= WORKFLOW_ID_MAX or not is_name(text):
        raise InvalidArgumentError(
            f"invalid workflow id: expected 1 to {WORKFLOW_ID_MAX} letters, digits, hyphens and underscores"
        )


def clean_line(text: str, max_bytes: int = CONSUMER_MAX_BYTES) -> bytes:
    """`text` as one line of at most `max_bytes` UTF-8 bytes; control characters become spaces (events have tabs)."""
    line = _UNPRINTABLE.sub(" ", text).encode("utf-8", "replace")
    return line if len(line) <= max_bytes else line[:max_bytes].decode("utf-8", "ignore").encode()
