"""Reads the activity log: a person sees what was done in the namespaces that are theirs, a superuser everything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from django.db.models import QuerySet

from queues.models import Activity, ActivityAction, Namespace
from queues.pools.reading import read_metadata

from .activity_detail import split_detail
from .visible import User, sees_everything

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPage:
    """Entries, the newest first. `before` goes into the next call; None: these were the oldest."""

    entries: tuple[ActivityEntry, ...]
    before: int | None


def list_activity(*, user: User, chosen: ActivityFilter, before: int | None = None, most: int = PAGE) -> ActivityPage:
    """The newest `most` entries that `user` may see and `chosen` means, of those older than the cursor `before`.

    One query, by an index. Raises MetadataUnavailableError.
    """
    rows = _chosen(_visible(user), chosen)
    if before is not None:
        rows = rows.filter(pk__lt=min(before, MAX_PK))
    found = read_metadata(lambda: list(rows.order_by("-pk")[: most + 1]))
    shown = found[:most]
    return ActivityPage(entries=tuple(_entry(row) for row in shown), before=shown[-1].pk if len(found) > most else None)


def actions() -> list[tuple[str, str]]:
    """Values and words of all actions, in order of the words, for a filter."""
    return sorted(((action.value, str(action.label)) for action in ActivityAction), key=lambda pair: pair[1])


def _visible(user: User) -> QuerySet[Activity]:
    """By the row of the namespace, not by its name: whoever gets that name later inherits nothing."""
    if sees_everything(user):
        return Activity.objects.all()
    return Activity.objects.filter(scope__in=Namespace.objects.visible_to(user).order_by().values("pk"))


def _chosen(rows: QuerySet[Activity], chosen: ActivityFilter) -> QuerySet[Activity]:
    wanted = {"who": chosen.who, "action": chosen.action, "namespace": chosen.namespace, "queue": chosen.queue}
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
