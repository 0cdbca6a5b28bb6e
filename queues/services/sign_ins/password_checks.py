"""What looking at passwords may cost, and how not to pay for the same one twice."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from ..errors import SignInBusyError

LINE_MAX: Final = 5
"""Checks of strangers, and of forms of known clients, that may wait at a time: a few seconds of hashing. Each holds a
thread."""

PROGRAMS_LINE_MAX: Final = 16
"""The same for known programs: a dozen guessers at the address of one leave it one."""

REMEMBERED_S: Final = 3_600
REMEMBERED_MAX: Final = 1_000


class CheckSlots:
    """Bounds how many passwords are looked at, and hashes one at a time.

    Also to compare one with the remembered ones takes a place, which a wrong one keeps until it has been hashed. So
    guessing is as slow as hashing, while a remembered one waits for nobody's hash.
    """

    def __init__(self) -> None:
        self.length = 0
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    @contextmanager
    def take(self, *, most: int) -> Iterator[None]:
        """Have a place within the block. Raises SignInBusyError if `most` are taken."""
        with self._lock:
            if self.length >= most:
                raise SignInBusyError
            self.length += 1
        try:
            yield
        finally:
            with self._lock:
                self.length -= 1

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of a place, and have it within the block."""
        with self._turn:
            yield


STRANGERS: Final = CheckSlots()
KNOWN_CLIENTS: Final = CheckSlots()
SUSPECTS: Final = CheckSlots()
"""Programs at an address that an account has signed in from, when somebody there guesses at that account."""


@dataclass(frozen=True, slots=True)
class VerifiedPassword:
    """`encoded`: the hash in the database, against which it was found right. Moments are in monotonic seconds."""

    user_id: int
    encoded: str
    kept_at: float
    used_at: float


class VerifiedPasswords:
    """Passwords that were right, until they are not used for REMEMBERED_S. A program that sends one with each request
    pays for one hash, and no guesser gets between its requests.

    In the memory of this process only, as digests under a key that ends with it; of too many the least used goes first.
    """

    def __init__(self, *, most: int = REMEMBERED_MAX) -> None:
        self._key = secrets.token_bytes(32)
        self._most = most
        self._verified: OrderedDict[bytes, VerifiedPassword] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, username: str, password: str) -> VerifiedPassword | None:
        """What was verified. The hash in the database may be another one by now."""
        digest = self._digest(username, password)
        with self._lock:
            found = self._verified.get(digest)
            if found is None:
                return None
            if monotonic() - found.used_at > REMEMBERED_S:
                del self._verified[digest]
                return None
            self._verified[digest] = replace(found, used_at=monotonic())
            self._verified.move_to_end(digest)
            return found

    def keep(self, username: str, password: str, *, user_id: int, encoded: str) -> None:
        """It has been hashed and found right."""
        now = monotonic()
        with self._lock:
            self._verified[self._digest(username, password)] = VerifiedPassword(user_id, encoded, now, now)
            if len(self._verified) > self._most:
                self._verified.popitem(last=False)

    def _digest(self, username: str, password: str) -> bytes:
        text = f"{len(username)}:{username}{password}"
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")


VERIFIED: Final = VerifiedPasswords()
