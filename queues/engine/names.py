"""Names of namespaces, queues and consumers: the rules for them. Ids of jobs and workflows: made and read.

Job ids are ULIDs (https://github.com/ulid/spec), 26 characters of Crockford base32. The first 10 characters are the
publish time in ms by the Redis server's clock, so the scripts write them; this module supplies the random part and
reads ids back.
"""

from __future__ import annotations

import os
import random
import re
import threading
from functools import lru_cache
from typing import Final

from .constants import CONSUMER_MAX_BYTES, NAME_MAX_BYTES, WORKFLOW_ID_MAX
from .errors import InvalidArgumentError

_NAME = re.compile(r"[-_A-Za-z0-9]+\Z")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH: Final = 26
_COUNTER_SPAN: Final = 32**3


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


_VALUE: Final = {char: value for value, char in enumerate(ALPHABET)}
_PAIRS: Final = [a + b for a in ALPHABET for b in ALPHABET]


class _RandomParts:
    """Parts that no other process makes: ten random characters that stay, and three that count, from a random start.

    A system call for each id would cost as much as all the rest of a publish. Ids tell jobs apart; tokens guard them.
    """

    def __init__(self) -> None:
        self._random = random.Random(os.urandom(32))  # noqa: S311
        self._begin()

    def _begin(self) -> None:
        self._stays = "".join(self._random.choices(ALPHABET, k=10))
        self._number = self._random.randrange(_COUNTER_SPAN)
        self._left = _COUNTER_SPAN

    def next(self, jobs: int) -> tuple[str, int]:
        self._left -= 1
        if not self._left:
            self._begin()
        number = self._number = (self._number + 1) % _COUNTER_SPAN
        part = self._stays + _PAIRS[number >> 5] + ALPHABET[number & 31]
        return part, int(self._random.random() * (_COUNTER_SPAN - jobs))


_parts = threading.local()


def _of_this_thread() -> _RandomParts:
    try:
        return _parts.parts  # type: ignore[no-any-return]
    except AttributeError:
        _parts.parts = _RandomParts()
        return _parts.parts  # type: ignore[no-any-return]


def _forget() -> None:
    """A forked child must not go on with its parent's numbers."""
    global _parts
    _parts = threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def random_start(jobs: int) -> tuple[str, int]:
    """What all ids of one publish share, 13 random characters, and the number at which their last three begin to count,
    so that `jobs` ids ascend without overflow."""
    return _of_this_thread().next(jobs)


def make_id(now_ms: int, random_part: str, number: int) -> str:
    """An id as scripts make them, for a job that is published later. `random_part`, `number`: of `random_start`."""
    time_part = "".join([ALPHABET[now_ms >> shift & 31] for shift in range(45, -1, -5)])
    return time_part + random_part + _PAIRS[number >> 5] + ALPHABET[number & 31]


def make_workflow_id() -> str:
    """An id for a workflow that was created without one: 26 characters, with no time in them."""
    return f"0{random_start(1)[0][1:]}{random_start(1)[0]}"


def is_job_id(text: str) -> bool:
    """Whether `text` has the form of a job id."""
    return len(text) == ID_LENGTH and all(char in _VALUE for char in text) and text[0] <= "7"


def published_ms(job_id: str) -> int:
    """The publish time that the id carries, in ms since the epoch."""
    return _time_of(job_id[:10])


@lru_cache(maxsize=4096)
def _time_of(part: str) -> int:
    """Jobs that are delivered together were often published together."""
    value = 0
    for char in part:
        value = value * 32 + _VALUE[char]
    return value
