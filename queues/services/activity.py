"""The activity log: what people did, and what was done for them. Written by the services that do it; read by its
page.

The log keeps English. The phrases that a detail begins with are shown in the reader's language; what follows are names
of fields and what somebody typed, which no language changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import Final

from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from queues.engine import JobState
from queues.engine.names import is_job_id
from queues.models import Activity, ActivityAction, Namespace
from queues.models.activity import DETAIL_MAX
from queues.pools.database import read_metadata, reason_of

from .permissions import User, sees_everything

ALL_OF_STATE: Final[Mapping[JobState, str]] = {
    JobState.READY: gettext_noop("all ready"),
    JobState.DELAYED: gettext_noop("all delayed"),
    JobState.RETRY: gettext_noop("all retry"),
    JobState.WORKING: gettext_noop("all working"),
    JobState.DEAD: gettext_noop("all dead"),
    JobState.COMPLETED: gettext_noop("all completed"),
    JobState.BLOCKED: gettext_noop("all blocked"),
    JobState.GROUPED: gettext_noop("all grouped"),
}

ALL_DEAD_LETTERS: Final = gettext_noop("all dead letters")

BY_BODY: Final = gettext_noop("by text in the body")
"""Not the text itself: bodies do not belong into the log."""

_PHRASES: Final = frozenset({*ALL_OF_STATE.values(), ALL_DEAD_LETTERS, BY_BODY})


def split_detail(detail: str) -> tuple[tuple[str, ...], str]:
    """The phrases that a detail begins with, in the active language, and the rest of it as it is."""
    parts = detail.split(", ")
    phrases = list(takewhile(_PHRASES.__contains__, parts))
    return tuple(gettext(phrase) for phrase in phrases), ", ".join(parts[len(phrases) :])


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
    act_id: str = "",
) -> None:
    """Write down what `user` has just done; None: a command on the server. Never a secret, never a body.

    `target`: what it was done to (a job id, a token's public id). `act_id`: any text that the batches of one long act
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
        "detail": detail[:DETAIL_MAX].replace("\0", ""),
        "run": act_id[:64].replace("\0", ""),  # what PostgreSQL refuses would leave the act without an entry
    }
    try:
        with transaction.atomic():
            _write(fields, count)
    except (DatabaseError, InterfaceError) as error:
        who = {"who": fields["who"], "activity": str(action), "pool": pool, "namespace": namespace, "queue": queue}
        logger.error("activity not written", extra={"action": "activity.note", "reason": reason_of(error), **who})


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


PAGE: Final = 50
"""Entries of one page."""

MAX_PK: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityFilter:
    """What is left empty lets everything through. `day`: in UTC. Names are whole names."""

    who: str = ""
    action: str = ""
    namespace: str = ""
    queue: str = ""
    target: str = ""
    day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityEntry:
    """One act. `action`: a value of ActivityAction, or the word of a version that knew more; `words`: for people.

    `phrases`: which jobs were meant, for people; `detail`: fields and what somebody typed, as the log has them.
    `is_visible`: the namespace is there and open to the reader, so a link to it leads somewhere.
    """

    at: datetime
    who: str
    action: str
    words: str
    pool: str
    namespace: str
    queue: str
    target: str
    count: int | None
    phrases: tuple[str, ...]
    detail: str
    is_visible: bool

    @property
    def is_of_job(self) -> bool:
        """Whether the target is a job, whose page may be linked to."""
        return self.is_visible and bool(self.queue) and is_job_id(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPage:
    """Entries, the newest first. `before` goes into the next call; None: these were the oldest."""

    entries: tuple[ActivityEntry, ...]
    before: int | None


def list_activity(*, user: User, chosen: ActivityFilter, before: int | None = None, most: int = PAGE) -> ActivityPage:
    """The newest `most` entries that `user` may see and `chosen` means, of those older than the cursor `before`.

    One query, by an index. Raises MetadataUnavailableError.
    """
    rows = _chosen(visible_activity(user), chosen)
    if before is not None:
        rows = rows.filter(pk__lt=min(before, MAX_PK))
    found = read_metadata(lambda: list(rows.order_by("-pk")[: most + 1]))
    shown = found[:most]
    return ActivityPage(entries=tuple(_entry(row) for row in shown), before=shown[-1].pk if len(found) > most else None)


def actions() -> list[tuple[str, str]]:
    """Values and words of all actions, in order of the words, for a filter."""
    return sorted(((action.value, str(action.label)) for action in ActivityAction), key=lambda pair: pair[1])


def visible_activity(user: User) -> QuerySet[Activity]:
    """By the row of the namespace, not by its name: a later owner of that name inherits nothing."""
    if sees_everything(user):
        return Activity.objects.all()
    return Activity.objects.filter(scope__in=Namespace.objects.visible_to(user).order_by().values("pk"))


def _chosen(rows: QuerySet[Activity], chosen: ActivityFilter) -> QuerySet[Activity]:
    wanted = {"who": chosen.who, "action": chosen.action, "namespace": chosen.namespace, "queue": chosen.queue}
    wanted["target"] = chosen.target
    rows = rows.filter(**{field: value for field, value in wanted.items() if value})
    if chosen.day is None:
        return rows
    begin = datetime.combine(chosen.day, time(), UTC)
    return rows.filter(at__gte=begin, at__lt=begin + timedelta(days=1))


def _entry(row: Activity) -> ActivityEntry:
    known = row.action in ActivityAction.values
    phrases, detail = split_detail(row.detail)
    return ActivityEntry(
        at=row.at,
        who=row.who,
        action=row.action,
        words=str(ActivityAction(row.action).label) if known else row.action,
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        target=row.target,
        count=row.count,
        phrases=phrases,
        detail=detail,
        is_visible=row.scope_id is not None,
    )
