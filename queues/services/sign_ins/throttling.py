"""Limits on attempts to sign in, and what is written down of them.

Good ones go to the activity log, failures and locks to the log."""

from __future__ import annotations

import logging
from math import ceil
from time import time
from typing import Any, Final

from axes.handlers.base import AbstractAxesHandler, AxesBaseHandler
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in
from django.core.cache import cache

from ..activity import ActivityAction, note_activity
from .clients import SignInClient, client_address, digest_of, find_client, network_of

logger = logging.getLogger(__name__)

NAME_SHOWN_MAX: Final = 150
"""Characters: as long as a name may be."""


def note_sign_ins() -> None:
    """Begin. Once per process."""
    user_logged_in.connect(_note, dispatch_uid="queues.note_sign_ins")


def log_failure(client: SignInClient) -> None:
    """A password was wrong. Their number is bounded by the limits, and by what hashing takes."""
    logger.warning("sign-in failed", extra={"action": "signin.fail", **_fields(client)})


def log_lock(client: SignInClient, *, of: str, retry_after_s: int) -> None:
    """This was one failure too many. Attempts that are refused from now on are not logged. `of`: the kind of limit."""
    fields = {"action": "signin.lock", "limit": of, "retry_after_s": retry_after_s, **_fields(client)}
    logger.warning("sign-ins locked", extra=fields)


def _fields(client: SignInClient) -> dict[str, Any]:
    name = "".join(one if one.isprintable() else "?" for one in client.username[:NAME_SHOWN_MAX])
    return {"address": client.address, "username": name, "known": client.is_known}


def _note(user: AbstractBaseUser, **_signal: Any) -> None:
    note_activity(user=user, action=ActivityAction.SIGNED_IN, pool="")


class SignInLimits(AbstractAxesHandler, AxesBaseHandler):  # type: ignore[misc]  # django-axes has no types
    """AXES_HANDLER."""

    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """The failures of the limit of this attempt's that is nearest to being reached."""
        if not credentials:
            return 0
        client = find_client(request, credentials["username"])
        found = cache.get_many([_key(one) for one in client.limited_as])
        return max(found.values(), default=0)

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **_more: Any) -> None:
        """Count it, unless it was refused without looking at the password."""
        if request is None or request.axes_locked_out:
            return
        client = find_client(request, credentials.get("username") or "")
        log_failure(client)
        for one in client.limited_as:
            if _count(_key(one)) == settings.AXES_FAILURE_LIMIT:
                log_lock(client, of=one[0], retry_after_s=seconds_locked())

    def user_logged_in(self, sender: Any, request: Any, user: Any, **_more: Any) -> None:
        """A form was right. The response makes this browser known (`taskq_site.sign_ins`)."""
        request.signed_in_username = user.get_username()

    def user_logged_out(self, sender: Any, request: Any, user: Any, **_more: Any) -> None:
        """Nothing: who was known stays known."""

    def reset_attempts(
        self, *, ip_address: str | None = None, username: str | None = None, ip_or_username: bool = False
    ) -> int:
        """For the commands `axes_reset_ip` and `axes_reset_username`: forget what strangers did. How many limits."""
        limits = []
        if ip_address is not None:
            limits.append(("address", network_of(ip_address)))
        if username is not None:
            limits.append(("account", username))
        return sum(bool(cache.delete(_key(one))) for one in limits)


def address_of(request: Any) -> str:
    """AXES_CLIENT_IP_CALLABLE."""
    return client_address(request)


def seconds_locked() -> int:
    """How long what is locked now stays so."""
    window_s = settings.TASKQ_SIGN_IN_LOCK_S
    return max(1, ceil(window_s - time() % window_s))


def _count(key: str) -> int:
    """Add one; the number there is then. 0: the cache is away."""
    cache.add(key, 0, timeout=settings.TASKQ_SIGN_IN_LOCK_S)
    try:
        return cache.incr(key) or 0
    except ValueError:  # it was not added, or has just expired
        return 0


def _key(limit: tuple[str, ...]) -> str:
    return f"sign_in:failures:{int(time() // settings.TASKQ_SIGN_IN_LOCK_S)}:{digest_of(*limit)}"
