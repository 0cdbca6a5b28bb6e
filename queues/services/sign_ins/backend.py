"""Django's authentication backend: name and password, within limits.

`CheckSlots` bounds what checks of passwords cost; `VerifiedPasswords` saves paying for the same one twice.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Final

from axes.backends import AxesStandaloneBackend
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied

from ..errors import SignInBusyError, SignInLockedError
from .throttling import SignInClient, find_client, remember_address, seconds_locked

LINE_MAX: Final = 5
"""Checks of strangers, and of forms of known clients, that may wait at a time: a few seconds of hashing. Each holds a
thread."""

PROGRAMS_LINE_MAX: Final = 16
"""The same for known programs: a dozen guessers at the address of one leave it one."""

REMEMBERED_S: Final = 3_600
REMEMBERED_MAX: Final = 1_000

ADDRESS_NOTED_EVERY_S: Final = 86_400
"""An address stays known for as long as it is used, although its password is not hashed again."""


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


class PasswordBackend(AxesStandaloneBackend, ModelBackend):  # type: ignore[misc]  # django-axes has no types
    """AUTHENTICATION_BACKENDS. An attempt that is refused unseen has the reason in `request.sign_in_refusal`.

    `request.is_of_program`: it came by HTTP Basic, in a thread that may wait (`queues.api.staff`).
    """

    def authenticate(self, request: Any, username: str | None = None, password: str | None = None, **more: Any) -> Any:
        """The user with this name and password, or None. Raises PermissionDenied for an attempt that is refused."""
        if request is None or username is None or password is None:
            return ModelBackend.authenticate(self, request, username, password, **more)
        username = username.replace("\0", "\ufffd")  # which PostgreSQL could not look for; such a name is nobody's
        client = find_client(request, username)
        is_program = getattr(request, "is_of_program", False)
        slots = _slots_for(request, client, is_program=is_program)
        try:
            with slots.take(most=PROGRAMS_LINE_MAX if client.is_known and is_program else LINE_MAX):
                user = self._find_verified(client, password)
                if user is None:
                    with slots.turn():
                        user = ModelBackend.authenticate(self, request, username, password, **more)
                    if user is not None:
                        _remember(client, password, user)
        except SignInBusyError as error:
            raise _refusal(request, error) from error
        return user

    def _find_verified(self, client: SignInClient, password: str) -> Any:
        """The user, if the password was right not long ago and is the same still; None: it has to be hashed."""
        verified = VERIFIED.find(client.username, password) if client.is_known else None
        if verified is None:
            return None
        user = self.get_user(verified.user_id)
        if user is None or user.password != verified.encoded:
            return None
        if monotonic() - verified.kept_at > ADDRESS_NOTED_EVERY_S:
            _remember(client, password, user)
        return user


def _slots_for(request: Any, client: SignInClient, *, is_program: bool) -> CheckSlots:
    """Where the attempt stands in line. Raises PermissionDenied if it is locked out.

    A program is known by nothing but its address. If somebody else at that address guesses at its account, it is not
    locked out, but shares a line with them.
    """
    if AxesProxyHandler.is_allowed(request, {"username": client.username}):
        return KNOWN_CLIENTS if client.is_known else STRANGERS
    if client.is_known_address and is_program:
        return SUSPECTS
    raise _refusal(request, SignInLockedError(seconds_locked()))


def _remember(client: SignInClient, password: str, user: Any) -> None:
    VERIFIED.keep(client.username, password, user_id=user.pk, encoded=user.password)
    remember_address(client)


def _refusal(request: Any, reason: SignInLockedError | SignInBusyError) -> PermissionDenied:
    request.sign_in_refusal = reason
    request.axes_locked_out = True  # the middleware of django-axes answers it, and the handler does not count it
    return PermissionDenied(str(reason))
