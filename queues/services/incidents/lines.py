"""Incidents as lines of a page: in a stable order, alike ones together, with what can be done about each.

The order is that of severity, kind, opening and name. Sizes change all the time and do not count, so that a line stays
where somebody is about to click.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from django.utils import timezone

from queues.models import Incident, IncidentKind, IncidentSeverity

from .findings import Fact, Finding
from .severity import RANKS, severity_of, worst_of
from .wording import meaning_of, say, say_group, title_of

GROUPED_FROM: Final = 3
"""So many of a kind are one line."""

NAMED: Final = 3
"""Of how many of them that line says where they are."""

SHOWN: Final = 6
"""Lines before "show all"."""


class Step(StrEnum):
    """What somebody can do about an incident, by a button beside it. Pages know where each leads."""

    ERRORS = "errors"
    RESPAWN = "respawn"
    READY_JOBS = "ready_jobs"
    WORKING_JOBS = "working_jobs"
    CONSUMERS = "consumers"
    PAUSE = "pause"
    RESUME = "resume"
    POLICY = "policy"
    POOLS = "pools"
    REPORT = "report"
    QUEUE = "queue"


STEPS: Final[Mapping[str, tuple[Step, ...]]] = {
    IncidentKind.NO_CONSUMER: (Step.CONSUMERS, Step.READY_JOBS, Step.PAUSE),
    IncidentKind.TOO_SLOW: (Step.CONSUMERS, Step.READY_JOBS, Step.POLICY),
    IncidentKind.JOBS_DYING: (Step.ERRORS, Step.RESPAWN, Step.PAUSE),
    IncidentKind.LEASES_EXPIRING: (Step.WORKING_JOBS, Step.CONSUMERS, Step.POLICY),
    IncidentKind.PAUSED: (Step.RESUME, Step.READY_JOBS),
    IncidentKind.REPORT_FAILED: (Step.REPORT,),
    IncidentKind.OBJECTIVE_BURN: (Step.QUEUE, Step.CONSUMERS, Step.POLICY),
}
"""Those of a kind; of any other: the pools."""

_OPERATES: Final = frozenset({Step.RESPAWN, Step.PAUSE, Step.RESUME})
_ADMINISTERS: Final = frozenset({Step.POLICY})

_KINDS: Final = {kind.value: place for place, kind in enumerate(IncidentKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLine:
    """An incident as one reader sees it. `pk` None: found just now, and not recorded (yet, or because no watch runs).

    `is_found`: its cause was there when the page was made. `since`: when that began. `size` 0: none, or not to be told.
    """

    pk: int | None
    kind: str
    severity: IncidentSeverity
    pool: str
    namespace: str = ""
    queue: str = ""
    size: int
    since: datetime
    opened_at: datetime | None = None
    resolved_at: datetime | None = None
    acknowledged_at: datetime | None = None
    acknowledged_by: str = ""
    peak_size: int = 0
    peak_at: datetime | None = None
    reopened: int = 0
    facts: Mapping[str, Fact] = field(default_factory=dict)
    is_found: bool = True
    may_operate: bool = False
    may_administer: bool = False

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None

    @property
    def lasted_ms(self) -> int:
        """From its start until its end, or until now."""
        end = self.resolved_at or timezone.now()
        return max(0, round((end - self.since).total_seconds())) * 1_000

    @property
    def title(self) -> str:
        return title_of(self.kind)

    @property
    def sentence(self) -> str:
        return say(self.kind, size=self.size, facts=self.facts)

    @property
    def meaning(self) -> str:
        return meaning_of(self.kind)

    @property
    def trouble(self) -> str:
        """What the error says, of those that may know."""
        return str(self.facts.get("trouble") or "")

    @property
    def is_of_queue(self) -> bool:
        return bool(self.queue)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Those that the reader may take."""
        steps = STEPS.get(self.kind, (Step.POOLS,)) if self.is_open else ()
        forbidden = (frozenset() if self.may_operate else _OPERATES) | (
            frozenset() if self.may_administer else _ADMINISTERS
        )
        return tuple(step for step in steps if step not in forbidden)

    @property
    def can_be_acknowledged(self) -> bool:
        return self.pk is not None and self.is_open and self.may_operate and self.acknowledged_at is None

    @property
    def order(self) -> tuple[Any, ...]:
        began = self.opened_at or self.since
        return (
            self.acknowledged_at is not None,
            RANKS[self.severity],
            _KINDS.get(self.kind, len(_KINDS)),
            self.pk is None,
            began.timestamp() if self.pk is not None else 0,
            (self.pool, self.namespace, self.queue),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentGroup:
    """Several alike: the same kind and severity, and acknowledged or not."""

    lines: tuple[IncidentLine, ...]

    @property
    def kind(self) -> str:
        return self.lines[0].kind

    @property
    def severity(self) -> IncidentSeverity:
        return self.lines[0].severity

    @property
    def count(self) -> int:
        return len(self.lines)

    @property
    def size(self) -> int:
        return sum(line.size for line in self.lines)

    @property
    def since(self) -> datetime:
        return min(line.since for line in self.lines)

    @property
    def sentence(self) -> str:
        return say_group(self.kind, count=self.count, size=self.size)

    @property
    def meaning(self) -> str:
        return meaning_of(self.kind)

    @property
    def named(self) -> tuple[IncidentLine, ...]:
        return self.lines[:NAMED]

    @property
    def left(self) -> int:
        return max(0, self.count - NAMED)

    @property
    def acknowledged_at(self) -> datetime | None:
        return self.lines[0].acknowledged_at

    @property
    def order(self) -> tuple[Any, ...]:
        return self.lines[0].order


Entry = IncidentLine | IncidentGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIncidents:
    """All that are open for one reader, in order."""

    lines: tuple[IncidentLine, ...]
    left_out: int = 0

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Lines and groups."""
        alike: dict[tuple[str, str, bool], list[IncidentLine]] = defaultdict(list)
        for line in self.lines:
            alike[line.kind, line.severity, line.acknowledged_at is None].append(line)
        entries: list[Entry] = []
        for lines in alike.values():
            entries += [IncidentGroup(lines=tuple(lines))] if len(lines) >= GROUPED_FROM else lines
        return tuple(sorted(entries, key=lambda entry: entry.order))

    @property
    def shown(self) -> tuple[Entry, ...]:
        return self.entries[:SHOWN]

    @property
    def hidden(self) -> int:
        """Lines and groups that are not shown at first."""
        return max(0, len(self.entries) - SHOWN)

    @property
    def total(self) -> int:
        return len(self.lines) + self.left_out

    @property
    def severity(self) -> IncidentSeverity | None:
        """The worst of those that nobody has acknowledged."""
        return worst_of(line.severity for line in self.lines if line.acknowledged_at is None)

    def count(self, severity: IncidentSeverity) -> int:
        return sum(line.severity == severity for line in self.lines if line.acknowledged_at is None)

    @property
    def critical(self) -> int:
        return self.count(IncidentSeverity.CRITICAL)

    @property
    def warnings(self) -> int:
        return self.count(IncidentSeverity.WARNING)

    @property
    def acknowledged(self) -> int:
        return sum(line.acknowledged_at is not None for line in self.lines)


def line_of_row(row: Incident, *, sees_all: bool = False) -> IncidentLine:
    """An incident as it is stored. What concerns a whole pool has a size, and trouble, for those only who see all."""
    is_told = sees_all or bool(row.namespace)
    return IncidentLine(
        pk=row.pk,
        kind=row.kind,
        severity=IncidentSeverity(row.severity),
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        size=row.size if is_told else 0,
        since=row.since,
        opened_at=row.opened_at,
        resolved_at=row.resolved_at,
        acknowledged_at=row.acknowledged_at,
        acknowledged_by=row.acknowledged_by,
        peak_size=row.peak_size if is_told else 0,
        peak_at=row.peak_at,
        reopened=row.reopened,
        facts=row.facts if is_told else told_facts(row.facts),
        is_found=not row.missed and row.resolved_at is None,
    )


def told_facts(facts: Mapping[str, Fact]) -> Mapping[str, Fact]:
    """Without what only those who see everything may know."""
    return {name: value for name, value in facts.items() if name != "trouble"}


def lines_of_now(
    rows: Iterable[Incident], findings: Iterable[Finding], *, now: datetime, sees_all: bool
) -> Sequence[IncidentLine]:
    """Open incidents with the numbers of now, and what was found that no incident has been made of. In order."""
    found = {finding.subject: finding for finding in findings}
    lines = []
    for row in rows:
        finding = found.pop(row.subject, None)
        line = line_of_row(row, sees_all=sees_all)
        lines.append(line if finding is None else _updated(line, row, finding, now, sees_all))
    lines += [_line_of_finding(finding, now, sees_all) for finding in found.values()]
    return sorted(lines, key=lambda line: line.order)


def _updated(line: IncidentLine, row: Incident, finding: Finding, now: datetime, sees_all: bool) -> IncidentLine:
    is_told = sees_all or bool(row.namespace)
    return replace(
        line,
        severity=severity_of(finding, now=now, since=row.since, before=row.severity),
        size=finding.size if is_told else 0,
        facts=finding.facts if is_told else told_facts(finding.facts),
        is_found=True,
    )


def _line_of_finding(finding: Finding, now: datetime, sees_all: bool) -> IncidentLine:
    is_told = sees_all or bool(finding.namespace)
    return IncidentLine(
        pk=None,
        kind=finding.kind.value,
        severity=severity_of(finding, now=now),
        pool=finding.pool,
        namespace=finding.namespace,
        queue=finding.queue,
        size=finding.size if is_told else 0,
        since=finding.since,
        facts=finding.facts if is_told else told_facts(finding.facts),
    )
