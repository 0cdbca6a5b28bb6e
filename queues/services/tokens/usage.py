"""When a token was used last, and what was done to it."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta
from typing import Final

from django.db import Error as DatabaseFault
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from queues.models import DEFAULT_POOL, Token

from ..activity import ActivityAction, note_activity
from ..permissions import User
from .managing import NewToken, find_public_id
from .secrets import split_token

logger = logging.getLogger(__name__)

NOTE_USE_EVERY_S: Final = 60
"""Per token."""

SLOW_S: Final = 1.0

REST_S: Final = 60.0
"""When a write failed or took longer than SLOW_S, nothing is noted for this long: it is the least important write."""

AT_ONCE: Final = 500

WAITING_MAX: Final = 10_000


class _Notes:
    """Uses not yet written. A thread writes them and ends, with its connection, when there are no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[int] = set()
        self._writer: threading.Thread | None = None
        self._rest_until = float("-inf")

    def add(self, pk: int) -> None:
        with self._lock:
            if time.monotonic() < self._rest_until or len(self._waiting) >= WAITING_MAX:
                return
            self._waiting.add(pk)
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=self._write_all, name="taskq-last-use", daemon=True)
                self._writer.start()

    def _write_all(self) -> None:
        try:
            while pks := self._take():
                started = time.monotonic()
                if not _write(pks) or time.monotonic() - started > SLOW_S:
                    self._rest()
        finally:
            connection.close()

    def _take(self) -> list[int]:
        with self._lock:
            pks = list(self._waiting)[:AT_ONCE]
            self._waiting.difference_update(pks)
            if not pks:
                self._writer = None
            return pks

    def _rest(self) -> None:
        with self._lock:
            self._waiting.clear()
            self._rest_until = time.monotonic() + REST_S


_notes = _Notes()


def note_use(pk: int) -> None:
    """Write `last_used` of the token soon, unless somebody did within the last minute or the database is slow.

    Within a transaction it is written at once: another connection would wait for that transaction's end.
    """
    if connection.in_atomic_block:
        _write([pk])
    else:
        _notes.add(pk)


def _write(pks: list[int]) -> bool:
    """Whether the database took it."""
    now = timezone.now()
    long_ago = Q(last_used=None) | Q(last_used__lt=now - timedelta(seconds=NOTE_USE_EVERY_S))
    long_ago |= Q(last_used__gt=now)  # the clock was put back
    try:
        with transaction.atomic():
            Token.objects.filter(long_ago, pk__in=pks).update(last_used=now)
    except DatabaseFault:
        fields = {"action": "token.note_use", "tokens": len(pks)}
        logger.warning("last use of a token could not be noted", extra=fields, exc_info=True)
        return False
    return True


def note_new_token(*, user: User | None, pool: str | None, namespace: str, token: NewToken) -> None:
    """`user` made the token, and its namespace if it is the first; None: a command on the server."""
    pool = pool or DEFAULT_POOL
    if token.is_first:
        note_activity(user=user, action=ActivityAction.NAMESPACE_CREATED, pool=pool, namespace=namespace)
    note_activity(
        user=user, action=ActivityAction.TOKEN_CREATED, pool=pool, namespace=namespace, target=token.public_id
    )


def note_token_act(
    *,
    user: User | None,
    action: ActivityAction,
    pool: str | None,
    namespace: str,
    public_id_or_secret: str,
    detail: str = "",
) -> None:
    """`user` did that to the token, which is written down by its public id."""
    prefix, _ = split_token(public_id_or_secret)
    target = find_public_id(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    note_activity(user=user, action=action, pool=pool or prefix, namespace=namespace, target=target, detail=detail)
