"""Finds queues whose error budget burns too fast: what an incident of the kind `objective_burn` is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from .burn_rates import Severity
from .reading import STALE, latest_count, list_burn_rates


@dataclass(frozen=True, slots=True, kw_only=True)
class BurningObjective:
    """A queue with an alert. `size`: deliveries that came late in the alert's long window, `share`: of all there;
    `since`: when the first five minutes of that window ended in which one came late
    (`Windows.late_since`). `facts`: numbers for a sentence."""

    pool: str
    namespace: str
    queue: str
    size: int
    share: float
    since: datetime
    severity: Severity
    facts: Mapping[str, str | int | float]


def find_burning_objectives(*, pool: str, now: datetime) -> list[BurningObjective] | None:
    """Those of a pool, the fastest first. None: nobody has counted lately, so nothing can be said.

    Raises MetadataUnavailableError.
    """
    latest = latest_count(pool=pool)
    if latest is None:
        return []
    if latest <= now - STALE:
        return None
    found = []
    for one in list_burn_rates(pool=pool, now=now):
        alert = one.rates.alert
        if alert is None:
            continue
        late = one.rates.deliveries[alert.long]
        rate = round(one.rates.rates[alert.long], 1)
        facts = {
            "severity": alert.severity.value,
            "window": alert.long,
            "burn_rate": rate,
            "late": late.late,
            "total": late.total,
            "objective_s": one.objective_s,
            "target": one.rates.target,
        }
        found.append(
            BurningObjective(
                pool=pool,
                namespace=one.namespace,
                queue=one.queue,
                size=late.late,
                share=late.late_share,
                severity=alert.severity,
                since=datetime.fromtimestamp(one.rates.late_since[alert.long], UTC),
                facts=facts,
            )
        )
    return found
