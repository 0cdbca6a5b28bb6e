"""Turns looks into incidents: opened, updated, resolved, reopened.

Each look is one transaction. A subject (kind, pool, namespace, queue) has at most one open incident, which a constraint
of the database makes sure of: if two processes look at the same moment, the later one's look is undone as a whole, and
the next look finds what it would have found.

An incident is resolved after RESOLVE_AFTER_LOOKS looks in a row that did not find its cause, and if the cause comes
back within REOPEN_WITHIN it is reopened, so that what flickers is one incident. Severity rises at once, and falls only
when the impact is below half of what had raised it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction

from queues.models import Incident, IncidentChange, IncidentChangeKind, Namespace

from .alerts.queueing import queue_alerts
from .findings import Finding, Look, Subject
from .severity import RANKS, impact_of, severity_of

logger = logging.getLogger(__name__)

RESOLVE_AFTER_LOOKS: Final = 3
REOPEN_WITHIN: Final = timedelta(minutes=10)

OPEN_MAX: Final = 1_000
"""Open incidents of one pool, the ones with the greatest impact. More are logged, and open when there is room."""

ALWAYS_OPEN: Final = 20
"""So many of each namespace open in any case, and all of the pool as a whole: no namespace hides what is wrong with
others by having OPEN_MAX of its own."""

WRITE_EVERY: Final = timedelta(seconds=15)
"""How often the size of an open incident is written down, if nothing else changes. Pages know the size of now."""

GROWN: Final = 1.2
"""An incident that has grown by so much over its peak is written down at once."""

POINTS_MAX: Final = 240
"""Points of the chart of sizes. When there are so many, every other one is dropped."""

_UPDATED: Final = (
    "severity", "worst", "since", "updated_at", "resolved_at", "acknowledged_at", "acknowledged_by", "size", "share",
    "peak_size", "peak_at", "facts", "sizes", "missed", "reopened",
)  # fmt: skip
BATCH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a look has changed."""

    opened: int = 0
    reopened: int = 0
    resolved: int = 0

    def plus(self, other: Recorded) -> Recorded:
        return Recorded(
            opened=self.opened + other.opened,
            reopened=self.reopened + other.reopened,
            resolved=self.resolved + other.resolved,
        )


NOTHING: Final = Recorded()


def record_look(look: Look, *, now: datetime) -> Recorded:
    """Write down what a look has found. Raises database errors."""
    try:
        with transaction.atomic():
            return _Recording(look, now).record()
    except IntegrityError:  # another process looked at the same time
        logger.info("look undone: another one was under way", extra={"action": "incidents.look", "pool": look.pool})
        return NOTHING


def resolve_gone_pools(*, pools: Iterable[str], now: datetime) -> int:
    """Resolve the open incidents of pools that were deleted. How many."""
    with transaction.atomic():
        gone = list(Incident.objects.filter(resolved_at=None).exclude(pool__in=["", *pools])[:BATCH])
        for row in gone:
            row.resolved_at = row.updated_at = now
        _save(gone)
        changes = [_change(row, IncidentChangeKind.RESOLVED, now) for row in gone]
        IncidentChange.objects.bulk_create(changes)
        queue_alerts(changes, now=now)
    return len(gone)


class _Recording:
    """One look, in one transaction."""

    def __init__(self, look: Look, now: datetime) -> None:
        self._look = look
        self._now = now
        self._changed: list[Incident] = []
        self._changes: list[IncidentChange] = []

    def record(self) -> Recorded:
        rows = Incident.objects.select_for_update().filter(
            pool=self._look.pool, kind__in=self._look.kinds, resolved_at=None
        )
        known = {row.subject: row for row in rows.order_by("pk")}
        found = {finding.subject: finding for finding in self._look.findings}
        for subject, row in known.items():
            if subject in found:
                self._see(row, found[subject])
        resolved = sum([self._miss(row) for subject, row in known.items() if subject not in found])
        new = self._fitting([finding for subject, finding in found.items() if subject not in known], known.values())
        reopened = self._reopen(new) if new else {}
        opened = self._open([finding for finding in new if finding.subject not in reopened])
        _save(self._changed)
        IncidentChange.objects.bulk_create(self._changes)
        queue_alerts(self._changes, now=self._now)
        return Recorded(opened=opened, reopened=len(reopened), resolved=resolved)

    def _fitting(self, new: Sequence[Finding], known: Collection[Incident]) -> Sequence[Finding]:
        room = OPEN_MAX - len(known)
        open_of = Counter(row.namespace for row in known)
        fitting: list[Finding] = []
        for finding in sorted(new, key=lambda one: (-impact_of(one, now=self._now), one.subject)):
            if not finding.namespace or len(fitting) < room or open_of[finding.namespace] < ALWAYS_OPEN:
                open_of[finding.namespace] += 1
                fitting.append(finding)
        if left_out := len(new) - len(fitting):
            fields = {"action": "incidents.full", "pool": self._look.pool, "left_out": left_out}
            logger.warning("too many open incidents: the least severe are left out", extra=fields)
        return fitting

    def _see(self, row: Incident, finding: Finding) -> None:
        """The cause is still there."""
        severity = severity_of(finding, now=self._now, before=row.severity, since=row.since)
        has_grown = finding.size > row.peak_size
        is_due = self._now - row.updated_at >= WRITE_EVERY or finding.size > GROWN * row.peak_size
        if severity == row.severity and not row.missed and not is_due:
            return
        row.missed = 0
        row.since = min(row.since, finding.since)
        _note_size(row, finding, self._now)
        if has_grown:
            row.peak_size, row.peak_at = finding.size, self._now
        self._changed.append(row)
        if severity != row.severity:
            row.severity = severity
            row.worst = min(row.worst, severity.value, key=lambda one: RANKS[one])
            self._changes.append(_change(row, IncidentChangeKind.SEVERITY, self._now))

    def _miss(self, row: Incident) -> bool:
        """The cause is not there. Whether that resolves the incident."""
        row.missed += 1
        self._changed.append(row)
        if row.missed < RESOLVE_AFTER_LOOKS:
            return False
        row.resolved_at = row.updated_at = self._now
        row.sizes = _with_point(row.sizes, self._now, 0)
        self._changes.append(_change(row, IncidentChangeKind.RESOLVED, self._now))
        return True

    def _reopen(self, new: Sequence[Finding]) -> Mapping[Subject, Incident]:
        """Incidents of these subjects that were resolved a short while ago: the latest of each."""
        lately = Incident.objects.select_for_update().filter(
            pool=self._look.pool, kind__in=self._look.kinds, resolved_at__gte=self._now - REOPEN_WITHIN
        )
        latest = {row.subject: row for row in lately.order_by("resolved_at", "pk")}
        reopened = {finding.subject: latest[finding.subject] for finding in new if finding.subject in latest}
        for finding in new:
            if (row := reopened.get(finding.subject)) is None:
                continue
            row.resolved_at = None
            row.missed = 0
            row.reopened += 1
            row.acknowledged_at, row.acknowledged_by = None, ""
            row.since = finding.since
            row.severity = severity_of(finding, now=self._now)
            row.worst = min(row.worst, row.severity, key=lambda one: RANKS[one])
            _note_size(row, finding, self._now)
            if finding.size > row.peak_size:
                row.peak_size, row.peak_at = finding.size, self._now
            self._changed.append(row)
            self._changes.append(_change(row, IncidentChangeKind.REOPENED, self._now))
        return reopened

    def _open(self, new: Sequence[Finding]) -> int:
        scopes = _scopes(self._look.pool, {finding.namespace for finding in new if finding.namespace})
        rows = []
        for finding in new:
            severity = severity_of(finding, now=self._now)
            row = Incident(
                kind=finding.kind,
                pool=finding.pool,
                namespace=finding.namespace,
                queue=finding.queue,
                scope_id=scopes.get(finding.namespace),
                severity=severity,
                worst=severity,
                since=finding.since,
                opened_at=self._now,
                peak_size=finding.size,
                peak_at=self._now,
            )
            _note_size(row, finding, self._now)
            rows.append(row)
        Incident.objects.bulk_create(rows, batch_size=BATCH)
        self._changes += [_change(row, IncidentChangeKind.OPENED, self._now) for row in rows]
        return len(rows)


def _scopes(pool: str, names: Iterable[str]) -> Mapping[str, int]:
    rows = Namespace.objects.filter(pool__name=pool, name__in=list(names)).order_by()
    return dict(rows.values_list("name", "pk"))


def _save(rows: Sequence[Incident]) -> None:
    if rows:
        Incident.objects.bulk_update(rows, _UPDATED, batch_size=BATCH)


def _change(row: Incident, change: IncidentChangeKind, now: datetime) -> IncidentChange:
    return IncidentChange(incident=row, at=now, change=change, severity=row.severity, size=row.size)


def _note_size(row: Incident, finding: Finding, now: datetime) -> None:
    row.size, row.share, row.facts, row.updated_at = finding.size, finding.share, dict(finding.facts), now
    row.sizes = _with_point(row.sizes, now, finding.size)


def _with_point(points: list[list[int]], now: datetime, size: int) -> list[list[int]]:
    if len(points) >= POINTS_MAX:
        points = points[::2]
    return [*points, [int(now.timestamp()), size]]


KEPT: Final = timedelta(days=90)
PRUNE_BATCH: Final = 500


def prune_incidents(*, now: datetime) -> int:
    """Forget a batch of those that were resolved KEPT ago. How many."""
    old = Incident.objects.filter(resolved_at__lt=now - KEPT).order_by("resolved_at").values_list("pk", flat=True)
    gone = list(old[:PRUNE_BATCH])
    if gone:
        Incident.objects.filter(pk__in=gone).delete()
    return len(gone)
