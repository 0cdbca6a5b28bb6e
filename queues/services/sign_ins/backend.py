"""Django's authentication backend: name and password, within limits."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from axes.backends import AxesStandaloneBackend
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied

from ..errors import SignInBusyError, SignInLockedError
from .clients import SignInClient, find_client, remember_address
from .password_checks import (
    KNOWN_CLIENTS,
    LINE_MAX,
    PROGRAMS_LINE_MAX,
    STRANGERS,
    SUSPECTS,
    VERIFIED,
    CheckSlots,
)
from .throttling import seconds_locked

ADDRESS_NOTED_EVERY_S: Final = 86_400
"""An address stays known for as long as it is used, although its password is not hashed again."""


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
