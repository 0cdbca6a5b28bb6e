"""The activity log: who did what, and who may read that."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F
from django.utils import timezone

from queues.models import Activity, ActivityAction, Namespace
from queues.models.activity import DETAIL_MAX

from .visible import User

__all__ = ["ActivityAction", "note_activity", "prune_activity"]

logger = logging.getLogger(__name__)

KEPT_DAYS: Final = 365
KEPT_ROWS: Final = 200_000
"""What is older, or beyond so many, is forgotten, oldest first."""

PRUNE_EVERY: Final = 100
PRUNE_BATCH: Final = 1_000
"""Every hundredth note forgets at most a thousand, so the log shrinks faster than it grows."""

NOT_A_PERSON: Final = "manage.py"
"""Who did what nobody was signed in for: a command on the server."""


def note_activity(
    *,
    user: User | None,
    action: ActivityAction,
    pool: str,
    namespace: str = "",
    queue: str = "",
    target: str = "",
    count: int | None = None,
    detail: str = "",
    run: str = "",
) -> None:
    """Write down what `user` has just done; None: a command on the server. Never a secret, never a body.

    `target`: what it was done to (a job id, a token's public id). `run`: any text that the batches of one long act
    share; they become one entry, whose `count` grows. The act is done: what hinders this note is logged, not raised.
    """
    fields = {
        "user_id": None if user is None else user.pk,
        "who": NOT_A_PERSON if user is None else user.get_username()[:150],
        "action": action,
        "pool": pool,
        "namespace": namespace,
        "queue": queue,
        "target": target[:255],
        "detail": detail[:DETAIL_MAX],
        "run": run[:64],
    }
    try:
        with transaction.atomic():
            _write(fields, count)
    except (DatabaseError, InterfaceError) as error:
        who = {"who": fields["who"], "activity": str(action), "pool": pool, "namespace": namespace, "queue": queue}
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        logger.error("activity not written", extra={"action": "activity.note", "reason": reason, **who})


def prune_activity() -> int:
    """Forget a batch of what is too old or too much. Answers how many; fewer than PRUNE_BATCH: all that there were."""
    newest = Activity.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    beyond = list(
        Activity.objects.filter(pk__lte=newest - KEPT_ROWS).order_by("pk").values_list("pk", flat=True)[:PRUNE_BATCH]
    )
    if not beyond:
        eldest = Activity.objects.filter(at__lt=timezone.now() - timedelta(days=KEPT_DAYS)).order_by("at", "pk")
        beyond = list(eldest.values_list("pk", flat=True)[:PRUNE_BATCH])
    if beyond:
        Activity.objects.filter(pk__in=beyond).delete()
    return len(beyond)


def _write(fields: dict[str, object], count: int | None) -> None:
    if fields["run"] and Activity.objects.filter(**fields).update(count=F("count") + (count or 0)):
        return
    scope = Namespace.objects.filter(pool__name=fields["pool"], name=fields["namespace"]).first()
    row = Activity.objects.create(scope=scope, count=0 if fields["run"] and count is None else count, **fields)
    if row.pk % PRUNE_EVERY == 0:
        prune_activity()
