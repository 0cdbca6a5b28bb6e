"""How bad a finding is: by impact, not by kind. The examples are those of the issue and of docs/incidents.md."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from queues.models import IncidentKind, IncidentSeverity
from queues.services.incidents.findings import Finding
from queues.services.incidents.severity import CRITICAL_IMPACT, WARNING_IMPACT, impact_of, severity_of
from tests.support.rows import in_one_test

NOW = datetime(2026, 11, 25, 10, 28, tzinfo=UTC)
CRITICAL, WARNING, INFO = IncidentSeverity.CRITICAL, IncidentSeverity.WARNING, IncidentSeverity.INFO

EXAMPLES: tuple[tuple[str, str, int, float, float, IncidentSeverity], ...] = (
    ("one unclaimed job", "no_consumer", 1, 1, 1.0, INFO),
    ("one unclaimed job", "no_consumer", 1, 30, 1.0, WARNING),
    ("one unclaimed job", "no_consumer", 1, 7 * 24 * 60, 1.0, WARNING),
    ("300 unclaimed jobs", "no_consumer", 300, 0.25, 1.0, WARNING),
    ("300 unclaimed jobs", "no_consumer", 300, 1, 1.0, CRITICAL),
    ("five jobs, all of which died", "jobs_dying", 5, 0, 1.0, CRITICAL),
    ("one job of a hundred died", "jobs_dying", 1, 0, 0.01, INFO),
    ("120 dead, one job in ten dies", "jobs_dying", 120, 0, 0.1, CRITICAL),
    ("120 dead, none lately", "jobs_dying", 120, 0, 0.02, WARNING),
    ("three dead, none lately", "jobs_dying", 3, 0, 0.02, INFO),
    ("one job a minute late", "too_slow", 1, 6, 1 / 6, INFO),
    ("300 jobs, twice the objective of 5 min", "too_slow", 300, 10, 0.5, CRITICAL),
    ("20 of 1,000 leases expired", "leases_expiring", 20, 5, 0.02, INFO),
    ("every lease expires", "leases_expiring", 100, 5, 1.0, CRITICAL),
    ("5,000 jobs of a paused queue", "paused", 5_000, 600, 0.0, INFO),
    ("Redis found away just now", "redis_away", 0, 0, 1.0, WARNING),
    ("Redis away, nobody knows how many jobs", "redis_away", 0, 1, 1.0, CRITICAL),
    ("no pump, nothing to move", "pump_away", 0, 2, 1.0, WARNING),
    ("no pump, 2,000 delayed jobs", "pump_away", 2_000, 0.5, 1.0, CRITICAL),
    ("three events dropped just now", "events_dropped", 3, 0, 1.0, WARNING),
    ("a million events dropped", "events_dropped", 1_000_000, 60, 1.0, WARNING),
)
"""What, kind, jobs, minutes, share failing, severity."""


def finding(kind: str, size: int, minutes: float, share: float) -> Finding:
    since = NOW - timedelta(minutes=minutes)
    return Finding(kind=IncidentKind(kind), pool="default", size=size, share=share, since=since)


@in_one_test(("what", "kind", "size", "minutes", "share", "wanted"), EXAMPLES)
def test_severity_is_by_impact(
    what: str, kind: str, size: int, minutes: float, share: float, wanted: IncidentSeverity
) -> None:
    assert severity_of(finding(kind, size, minutes, share), now=NOW) is wanted, what


def test_the_document_has_these_examples_and_bounds() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "incidents.md").read_text()
    rows: list[Any] = [
        (what.strip(), kind.strip(" `"), size.strip(), severity.strip())
        for what, kind, size, severity in re.findall(
            r"^\| ([^|]+) \| (`\w+`) \| ([\d,]+) \|[^|]*\|[^|]*\|[^|]*\| (\w+) \|$", text, re.M
        )
    ]

    assert rows == [(what, kind, f"{size:,}", str(wanted.label)) for what, kind, size, _, _, wanted in EXAMPLES]
    assert f"{CRITICAL_IMPACT:g} job-minutes" in text
    assert f"{WARNING_IMPACT:g} job-minutes" in text


def test_an_incident_counts_from_its_own_beginning() -> None:
    """The oldest job may be young though the queue has been too slow for an hour."""
    young = finding("too_slow", 20, 6, 0.5)

    assert impact_of(young, now=NOW) == pytest.approx(60)
    assert impact_of(young, now=NOW, since=NOW - timedelta(hours=2)) == pytest.approx(600)


def test_severity_falls_only_below_half_of_what_raised_it() -> None:
    just_below, far_below = finding("no_consumer", 299, 1, 1.0), finding("no_consumer", 149, 1, 1.0)

    assert severity_of(just_below, now=NOW) is WARNING
    assert severity_of(just_below, now=NOW, before=CRITICAL) is CRITICAL
    assert severity_of(far_below, now=NOW, before=CRITICAL) is WARNING
