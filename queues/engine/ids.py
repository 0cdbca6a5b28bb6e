"""Job ids: ULIDs (https://github.com/ulid/spec), 26 characters of Crockford base32.

The first 10 characters are the publish time in ms by the Redis server's clock, so the scripts write them; this module
supplies the random part and reads ids back.
"""

from __future__ import annotations

import base64
import os
import random
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ID_LENGTH: Final = 26
_VALUE: Final = {char: value for value, char in enumerate(ALPHABET)}
_FROM_RFC4648 = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", ALPHABET.encode())
_COUNTER_SPAN = 32**3
_system_random = random.SystemRandom()


def random_part() -> bytes:
    """13 random characters (65 bits), the part that all ids of one publish share."""
    return base64.b32encode(os.urandom(10)).translate(_FROM_RFC4648)[:13]


def random_counter(jobs: int) -> int:
    """Where the last three characters start counting, so that `jobs` ids of one call ascend without overflow."""
    return _system_random.randrange(_COUNTER_SPAN - jobs)


def is_job_id(text: str) -> bool:
    """Whether `text` has the form of a job id."""
    return len(text) == ID_LENGTH and all(char in _VALUE for char in text) and text[0] <= "7"


def published_ms(job_id: str) -> int:
    """The publish time that the id carries, in ms since the epoch."""
    value = 0
    for char in job_id[:10]:
        value = value * 32 + _VALUE[char]
    return value
