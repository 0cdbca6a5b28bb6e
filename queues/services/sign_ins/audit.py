"""What is written down of sign-ins: good ones in the activity log, failures and locks in the log."""

from __future__ import annotations

import logging
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in

from ..activity import ActivityAction, note_activity
from .clients import SignInClient

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
