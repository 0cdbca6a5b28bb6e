"""Sign-ins are noted, in the dashboard's form as in the admin's."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in

from .activity import ActivityAction, note_activity


def note_sign_ins() -> None:
    """Begin. Once per process."""
    user_logged_in.connect(_note, dispatch_uid="queues.note_sign_ins")


def _note(user: AbstractBaseUser, **_signal: Any) -> None:
    note_activity(user=user, action=ActivityAction.SIGNED_IN, pool="")
