"""Job ids: ULIDs (https://github.com/ulid/spec), 26 characters of Crockford base32.

The first 10 characters are the publish time in ms by the Redis server's clock, so the scripts write them; this module
supplies the random part and reads ids back.
"""

from __future__ import annotations

import os
import random
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH: Final = 26
_VALUE: Final = {char: value for value, char in enumerate(ALPHABET)}
_COUNTER_SPAN: Final = 32**3
_PAIRS: Final = [a + b for a in ALPHABET for b in ALPHABET]

_random: Final = random.Random(os.urandom(32))  # noqa: S311 - ids tell jobs apart, tokens guard them
"""Seeded by the system, then its own: a system call for every id would cost as much as all the rest of a publish."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _random.seed(os.urandom(32)))


def random_part() -> str:
    """13 random characters (65 bits), the part that all ids of one publish share."""
    bits = _random.getrandbits(65)
    pairs = _PAIRS
    return (
        pairs[bits & 1023]
        + pairs[bits >> 10 & 1023]
        + pairs[bits >> 20 & 1023]
        + pairs[bits >> 30 & 1023]
        + pairs[bits >> 40 & 1023]
        + pairs[bits >> 50 & 1023]
        + ALPHABET[bits >> 60]
    )


def random_counter(jobs: int) -> int:
    """Where the last three characters start counting, so that `jobs` ids of one call ascend without overflow."""
    return int(_random.random() * (_COUNTER_SPAN - jobs))


def is_job_id(text: str) -> bool:
    """Whether `text` has the form of a job id."""
    return len(text) == ID_LENGTH and all(char in _VALUE for char in text) and text[0] <= "7"


def published_ms(job_id: str) -> int:
    """The publish time that the id carries, in ms since the epoch."""
    value = 0
    for char in job_id[:10]:
        value = value * 32 + _VALUE[char]
    return value
