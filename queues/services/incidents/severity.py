"""How bad a finding is: one formula for every kind.

    impact = jobs x minutes x share failing

`jobs`: how many it concerns. `minutes`: how long its cause has lasted, MINUTES_MAX at the most; dead letters count as
that old at once, since none of them comes back by itself. `share failing`: of the subject's work, 0 to 1. The unit is
the job-minute: 300 jobs that wait for a minute, or five that wait for an hour.

    critical    impact >= CRITICAL_IMPACT
    warning     impact >= WARNING_IMPACT
    info        less

Kinds in which no job is harmed have a ceiling (CEILINGS). The table of examples is in `docs/incidents.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from queues.models import IncidentKind, IncidentSeverity

from .findings import Finding

CRITICAL_IMPACT: Final = 300.0
WARNING_IMPACT: Final = 10.0
"""Job-minutes."""

MINUTES_MAX: Final = 60.0
"""More time makes nothing worse: one job that nobody takes is a warning, however long it waits."""

AT_REST_SHARE: Final = 0.02
"""Share failing of a queue whose dead letters are still there, though none has died lately."""

LOST_KINDS: Final = frozenset({IncidentKind.JOBS_DYING})
"""Their jobs do not go on by themselves."""

CEILINGS: Final[Mapping[IncidentKind, IncidentSeverity]] = {
    IncidentKind.PAUSED: IncidentSeverity.INFO,
    IncidentKind.EVENTS_DROPPED: IncidentSeverity.WARNING,
    IncidentKind.REPORT_FAILED: IncidentSeverity.WARNING,
}

RANKS: Final[Mapping[str, int]] = {severity.value: rank for rank, severity in enumerate(IncidentSeverity)}
"""The worst first."""


def impact_of(finding: Finding, *, now: datetime) -> float:
    """Job-minutes."""
    lasted = max(0.0, (now - finding.since).total_seconds() / 60)
    minutes = MINUTES_MAX if finding.kind in LOST_KINDS else min(lasted, MINUTES_MAX)
    return finding.size * minutes * min(1.0, max(0.0, finding.share))


def severity_of(finding: Finding, *, now: datetime) -> IncidentSeverity:
    """By impact, not by kind."""
    impact = impact_of(finding, now=now)
    if impact >= CRITICAL_IMPACT:
        found = IncidentSeverity.CRITICAL
    elif impact >= WARNING_IMPACT:
        found = IncidentSeverity.WARNING
    else:
        found = IncidentSeverity.INFO
    ceiling = CEILINGS.get(finding.kind, found)
    return max(found, ceiling, key=lambda severity: RANKS[severity])


def worst_of(severities: Iterable[str]) -> IncidentSeverity | None:
    """The worst of several; None of none."""
    rank = min((RANKS[severity] for severity in severities), default=None)
    return None if rank is None else tuple(IncidentSeverity)[rank]
