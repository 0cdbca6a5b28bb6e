"""What charts of a time show beside the numbers: incidents, pauses and deploys, for those who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from django.db.models import Case, Q, When

from queues.models import Activity, ActivityAction, Incident, IncidentSeverity
from queues.pools.database import read_metadata

from .activity import visible_activity
from .deploys import deploys_between
from .incidents.reading import visible_rows
from .incidents.severity import RANKS
from .incidents.wording import title_of
from .permissions import User

INCIDENTS_MAX: Final = 20
DEPLOYS_MAX: Final = 20
PAUSES_READ: Final = 100
EVENTS_MAX: Final = 40
"""Of one answer: more could not be told apart in a picture."""


class EventKind(StrEnum):
    """What happened."""

    INCIDENT = "incident"
    PAUSE = "pause"
    DEPLOY = "deploy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartEvent:
    """`until_ms` None: it goes on, or it has no length. `about`: the incident's kind in words, who paused, the version.

    `pk`: of an incident.
    """

    kind: EventKind
    at_ms: int
    until_ms: int | None = None
    pool: str = ""
    namespace: str = ""
    queue: str = ""
    about: str = ""
    severity: IncidentSeverity | None = None
    pk: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartEvents:
    """The earliest first. `left_out`: there were more."""

    events: tuple[ChartEvent, ...]
    left_out: bool


def read_chart_events(*, user: User, from_ms: int, to_ms: int) -> ChartEvents:
    """What touched that time: a bounded number of queries and rows. Raises MetadataUnavailableError."""
    since, until = _moment(from_ms), _moment(to_ms)
    found = read_metadata(
        lambda: [*_incidents(user, since, until), *_pauses(user, since, until), *_deploys(user, since, until)]
    )
    found.sort(key=lambda event: event.at_ms)
    return ChartEvents(events=tuple(found[-EVENTS_MAX:]), left_out=len(found) > EVENTS_MAX)


def _incidents(user: User, since: datetime, until: datetime) -> Iterator[ChartEvent]:
    """The worst of them, without those that only inform."""
    rank = Case(*(When(worst=value, then=number) for value, number in RANKS.items()), default=len(RANKS))
    rows = visible_rows(user).filter(Q(resolved_at=None) | Q(resolved_at__gt=since), since__lte=until)
    rows = rows.exclude(worst=IncidentSeverity.INFO).order_by(rank, "-pk")
    for row in rows[:INCIDENTS_MAX]:
        yield _of_incident(row)


def _of_incident(row: Incident) -> ChartEvent:
    return ChartEvent(
        kind=EventKind.INCIDENT,
        at_ms=_ms(row.since),
        until_ms=None if row.resolved_at is None else _ms(row.resolved_at),
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        about=title_of(row.kind),
        severity=IncidentSeverity(row.worst),
        pk=row.pk,
    )


def _pauses(user: User, since: datetime, until: datetime) -> Iterator[ChartEvent]:
    """From each pause to the resumption after it. Of one that began before, only the end is known."""
    acts = (ActivityAction.PAUSED, ActivityAction.RESUMED)
    rows = visible_activity(user).filter(at__gte=since, at__lte=until, action__in=acts, scope__isnull=False)
    ends: dict[tuple[str, str, str], int] = {}
    for row in rows.order_by("-pk")[:PAUSES_READ]:
        place = (row.pool, row.namespace, row.queue)
        if row.action == ActivityAction.RESUMED:
            ends[place] = _ms(row.at)
        else:
            yield _of_pause(row, ends.pop(place, None))


def _of_pause(row: Activity, until_ms: int | None) -> ChartEvent:
    return ChartEvent(
        kind=EventKind.PAUSE,
        at_ms=_ms(row.at),
        until_ms=until_ms,
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        about=row.who,
    )


def _deploys(user: User, since: datetime, until: datetime) -> Iterator[ChartEvent]:
    for row in deploys_between(user=user, since=since, until=until, most=DEPLOYS_MAX):
        yield ChartEvent(
            kind=EventKind.DEPLOY,
            at_ms=_ms(row.at),
            pool=row.namespace.pool.name,
            namespace=row.namespace.name,
            about=row.version,
        )


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(max(ms, 0) / 1_000, tz=UTC)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000)
