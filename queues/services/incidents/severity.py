"""How bad a finding is: one formula for every kind.

    impact = jobs x minutes x share failing

`jobs`: how many it concerns. `minutes`: how long its cause has lasted, MINUTES_MAX at the most; dead letters count as
that old at once, since none of them comes back by itself. `share failing`: of the subject's work, 0 to 1. The unit is
the job-minute: 300 jobs that wait for a minute, or five that wait for an hour.

    critical    impact >= CRITICAL_IMPACT
    warning     impact >= WARNING_IMPACT
    info        less

What concerns a whole pool stops jobs that nobody could count, so it counts as FLOORS jobs at least. Kinds in which no
job is harmed have a ceiling (CEILINGS), lost data has a least severity (LEAST), and a Redis that does not answer a
least time (UNANSWERED_MINUTES). The table of examples is in `docs/incidents.md`.
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

UNANSWERED_MINUTES: Final = 0.05
"""A Redis that is found not to answer has not done so for the time-out: at once a warning, critical after 18 s."""

LOST_KINDS: Final = frozenset({IncidentKind.JOBS_DYING})
"""Their jobs do not go on by themselves."""

FLOORS: Final[Mapping[IncidentKind, int]] = {
    IncidentKind.REDIS_AWAY: 1_000,
    IncidentKind.REDIS_UNUSABLE: 1_000,
    IncidentKind.REDIS_FULL: 1_000,
    IncidentKind.PUMP_AWAY: 60,
    IncidentKind.PUMP_LATE: 10,
}
"""Jobs that an incident counts as at least."""

CEILINGS: Final[Mapping[IncidentKind, IncidentSeverity]] = {
    IncidentKind.PAUSED: IncidentSeverity.INFO,
    IncidentKind.EVENTS_DROPPED: IncidentSeverity.WARNING,
    IncidentKind.REPORT_FAILED: IncidentSeverity.WARNING,
}

LEAST: Final[Mapping[IncidentKind, IncidentSeverity]] = {IncidentKind.EVENTS_DROPPED: IncidentSeverity.WARNING}
"""Never less severe, however few it concerns: dropped events do not come back, and the day's figures are wrong."""

_UNANSWERED_KINDS: Final = frozenset({IncidentKind.REDIS_AWAY, IncidentKind.REDIS_UNUSABLE})

RANKS: Final[Mapping[str, int]] = {severity.value: rank for rank, severity in enumerate(IncidentSeverity)}
"""The worst first."""


def impact_of(finding: Finding, *, now: datetime, since: datetime | None = None) -> float:
    """Job-minutes. `since`: when its incident began, if it has one."""
    began = finding.since if since is None else min(since, finding.since)
    least = UNANSWERED_MINUTES if finding.kind in _UNANSWERED_KINDS else 0.0
    lasted = max(least, (now - began).total_seconds() / 60)
    minutes = MINUTES_MAX if finding.kind in LOST_KINDS else min(lasted, MINUTES_MAX)
    return max(finding.size, FLOORS.get(finding.kind, 0)) * minutes * min(1.0, max(0.0, finding.share))


def severity_of(
    finding: Finding, *, now: datetime, since: datetime | None = None, before: str = IncidentSeverity.INFO
) -> IncidentSeverity:
    """By impact, not by kind. `before`: what it has been; it falls when the impact is below half of that bound only."""
    impact = impact_of(finding, now=now, since=since)
    found = _by_impact(impact)
    if RANKS[found] > RANKS[before]:
        found = min(_by_impact(2 * impact), found, key=lambda severity: RANKS[severity])
    ceiling = CEILINGS.get(finding.kind, found)
    at_most = max(found, ceiling, finding.ceiling, key=lambda severity: RANKS[severity])
    return min(at_most, LEAST.get(finding.kind, at_most), key=lambda severity: RANKS[severity])


def _by_impact(impact: float) -> IncidentSeverity:
    if impact >= CRITICAL_IMPACT:
        return IncidentSeverity.CRITICAL
    return IncidentSeverity.WARNING if impact >= WARNING_IMPACT else IncidentSeverity.INFO


def worst_of(severities: Iterable[str]) -> IncidentSeverity | None:
    """The worst of several; None of none."""
    rank = min((RANKS[severity] for severity in severities), default=None)
    return None if rank is None else tuple(IncidentSeverity)[rank]
