"""Further detectors: each is asked at every look at a pool, after the pool's own findings.

A detector takes the pool's name and the time, and returns a Look, or None where it could not see anything. It reads the
database or files, takes milliseconds, and raises nothing but what the watch expects: database errors and TaskqError.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

from queues.models import IncidentKind, IncidentSeverity

from ..incidents.findings import Finding, Look
from ..objectives.burn_rates import Severity
from ..objectives.burning import find_burning_objectives

Detector: TypeAlias = Callable[[str, datetime], Look | None]


_CEILINGS: Final = {Severity.PAGE: IncidentSeverity.CRITICAL, Severity.TICKET: IncidentSeverity.WARNING}
"""A budget that burns slowly wakes nobody."""


def look_at_objectives(pool: str, now: datetime) -> Look | None:
    """Queues whose error budget burns too fast. None: nobody has counted deliveries lately."""
    burning = find_burning_objectives(pool=pool, now=now)
    if burning is None:
        return None
    findings = tuple(
        Finding(
            kind=IncidentKind.OBJECTIVE_BURN,
            pool=one.pool,
            namespace=one.namespace,
            queue=one.queue,
            size=one.size,
            share=one.share,
            since=one.since,
            facts=one.facts,
            ceiling=_CEILINGS[one.severity],
        )
        for one in burning
    )
    return Look(pool=pool, kinds=frozenset({IncidentKind.OBJECTIVE_BURN}), findings=findings)


DETECTORS: Final[tuple[Detector, ...]] = (look_at_objectives,)
