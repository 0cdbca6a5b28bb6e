"""Incidents as they are stored, for those who may see them: open ones, the history, one with its timeline.

Who may see a namespace sees its incidents, by the row of the namespace and not by its name. Incidents of a whole pool
are for everybody who sees a namespace in it, those of the installation for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db.models import Case, Q, QuerySet, When

from queues.models import Incident, IncidentChange, IncidentChangeKind, IncidentKind, IncidentSeverity, Namespace
from queues.pools.database import read_metadata

from ..errors import IncidentNotFoundError
from ..permissions import Role, User, roles_among, sees_everything
from .lines import IncidentLine, line_of_row
from .severity import RANKS

PAGE: Final = 50
OPEN_READ_MAX: Final = 1_000
"""Open incidents that one page reads. The worst are read first."""

MAX_PK: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilter:
    """What is left empty lets everything through. `state`: open or resolved. `namespace`: POOL/NAME."""

    state: str = ""
    kind: str = ""
    severity: str = ""
    namespace: str = ""
    queue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPage:
    """Incidents, the newest first. `before` goes into the next call; None: these were the oldest."""

    lines: tuple[IncidentLine, ...]
    before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """Something that happened to an incident. `size` None: it says nothing about it."""

    at: datetime
    change: str
    words: str
    who: str
    note: str
    severity: IncidentSeverity
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentView:
    """One incident with its history. `points`: (ms since 1970, jobs)."""

    line: IncidentLine
    timeline: tuple[TimelineEntry, ...]
    points: tuple[tuple[int, int], ...]
    worst: IncidentSeverity

    @property
    def may_note(self) -> bool:
        return self.line.may_operate


def visible_rows(user: User) -> QuerySet[Incident]:
    """Those that `user` may see."""
    if sees_everything(user):
        return Incident.objects.all()
    visible = Namespace.objects.visible_to(user).order_by()
    whole_pool = Q(namespace="", pool__in=visible.values("pool__name"))
    whole_installation = Q(namespace="", pool="") if user.is_active else Q(pk__in=())
    return Incident.objects.filter(Q(scope__in=visible.values("pk")) | whole_pool | whole_installation)


def open_rows(*, user: User) -> tuple[Sequence[Incident], int]:
    """The open ones, at most OPEN_READ_MAX, the worst first; and how many more there are.

    Raises MetadataUnavailableError.
    """
    rows = visible_rows(user).filter(resolved_at=None)
    rank = Case(*(When(severity=value, then=number) for value, number in RANKS.items()), default=len(RANKS))
    by_severity = rows.order_by(rank, "opened_at", "pk")
    found = read_metadata(lambda: list(by_severity[: OPEN_READ_MAX + 1]))
    if len(found) <= OPEN_READ_MAX:
        return found, 0
    return found[:OPEN_READ_MAX], read_metadata(rows.count) - OPEN_READ_MAX


def open_rows_of_queue(*, pool: str, namespace: str, queue: str) -> Sequence[Incident]:
    """Those of a queue that the caller may see, and of its pool. Raises MetadataUnavailableError."""
    rows = Incident.objects.filter(pool=pool, resolved_at=None)
    mine = rows.filter(Q(namespace=namespace, queue=queue) | Q(namespace="", queue=""))
    return read_metadata(lambda: list(mine.order_by("pk")))


def list_incidents(*, user: User, chosen: IncidentFilter, before: int | None = None, most: int = PAGE) -> IncidentPage:
    """The newest `most` that `user` may see and `chosen` means, of those older than the cursor `before`.

    Raises MetadataUnavailableError.
    """
    rows = _chosen(visible_rows(user), chosen)
    if before is not None:
        rows = rows.filter(pk__lt=min(before, MAX_PK))
    found = read_metadata(lambda: list(rows.order_by("-pk")[: most + 1]))
    shown = found[:most]
    sees_all = sees_everything(user)
    lines = with_roles([line_of_row(row, sees_all=sees_all) for row in shown], user=user)
    return IncidentPage(lines=tuple(lines), before=shown[-1].pk if len(found) > most else None)


def read_incident(*, user: User, pk: int) -> IncidentView:
    """One with its history. Of what concerns a whole pool, notes and numbers of jobs are for superusers.

    Raises IncidentNotFoundError, also for what `user` may not see; MetadataUnavailableError.
    """
    row = find_row(user=user, pk=pk)
    sees_all = sees_everything(user)
    (line,) = with_roles([line_of_row(row, sees_all=sees_all)], user=user)
    is_told = sees_all or bool(row.namespace)
    changes = read_metadata(lambda: list(row.changes.order_by("pk")))
    return IncidentView(
        line=line,
        timeline=tuple(
            _entry(change, is_told) for change in changes if is_told or change.change != IncidentChangeKind.NOTED
        ),
        points=tuple((at * 1_000, size) for at, size in row.sizes) if is_told else (),
        worst=IncidentSeverity(row.worst),
    )


def find_row(*, user: User, pk: int) -> Incident:
    """Raises IncidentNotFoundError, MetadataUnavailableError."""
    row = read_metadata(visible_rows(user).filter(pk=pk).first) if 0 < pk <= MAX_PK else None
    if row is None:
        raise IncidentNotFoundError
    return row


def with_roles(lines: Sequence[IncidentLine], *, user: User) -> Sequence[IncidentLine]:
    """The same, with what `user` may do there. What concerns more than one namespace only superusers act on."""
    if sees_everything(user):
        return [replace(line, may_operate=True, may_administer=True) for line in lines]
    places = {(line.pool, line.namespace) for line in lines if line.namespace}
    roles: Mapping[tuple[str, str], Role] = roles_among(user=user, places=places)

    def may(line: IncidentLine, needed: Role) -> bool:
        return roles.get((line.pool, line.namespace), 0) >= needed

    return [replace(line, may_operate=may(line, Role.OPERATE), may_administer=may(line, Role.ADMIN)) for line in lines]


def count_open() -> Mapping[tuple[str, str, str, str], int]:
    """Open incidents by pool, namespace, kind and severity, for the metrics. Raises MetadataUnavailableError."""
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("pool", "namespace", "kind", "severity")
    counts: dict[tuple[str, str, str, str], int] = {}
    for key in read_metadata(lambda: list(rows)):
        counts[key] = counts.get(key, 0) + 1
    return counts


def _chosen(rows: QuerySet[Incident], chosen: IncidentFilter) -> QuerySet[Incident]:
    if chosen.state:
        rows = rows.filter(resolved_at__isnull=chosen.state == "open")
    if chosen.kind in IncidentKind.values:
        rows = rows.filter(kind=chosen.kind)
    if chosen.severity in IncidentSeverity.values:
        rows = rows.filter(worst=chosen.severity)
    if chosen.namespace:
        pool, _, namespace = chosen.namespace.partition("/")
        rows = rows.filter(pool=pool, namespace=namespace)
    if chosen.queue:
        rows = rows.filter(queue__icontains=chosen.queue)
    return rows


def _entry(change: IncidentChange, is_told: bool) -> TimelineEntry:
    known = change.change in IncidentChangeKind.values
    is_by_a_person = change.change in (
        IncidentChangeKind.ACKNOWLEDGED,
        IncidentChangeKind.UNACKNOWLEDGED,
        IncidentChangeKind.NOTED,
    )
    return TimelineEntry(
        at=change.at,
        change=change.change,
        words=str(IncidentChangeKind(change.change).label) if known else change.change,
        who=change.who,
        note=change.note if is_told else "",
        severity=IncidentSeverity(change.severity),
        size=change.size if is_told and not is_by_a_person else None,
    )
