"""Finds queues whose error budget burns too fast: what an incident of the kind `objective_burn` is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from .burn_rates import WINDOWS, Severity
from .reading import STALE, latest_count, list_burn_rates


@dataclass(frozen=True, slots=True, kw_only=True)
class BurningObjective:
    """A queue with an alert. `size`: deliveries that came late in the alert's long window, `share`: of all there;
    `since`: when that window began. `facts`: numbers for a sentence, and the sentence (`text`)."""

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
        text = gettext(
            "The error budget burns %(rate)s times too fast: in the last %(window)s, %(late)s of %(total)s deliveries "
            "came later than after %(objective)s s."
        ) % {
            "rate": f"{rate:g}",
            "window": alert.long,
            "late": f"{late.late:,}",
            "total": f"{late.total:,}",
            "objective": f"{one.objective_s:,}",
        }
        found.append(
            BurningObjective(
                pool=pool,
                namespace=one.namespace,
                queue=one.queue,
                size=late.late,
                share=late.late_share,
                severity=alert.severity,
                since=one.until - timedelta(seconds=WINDOWS[alert.long]),
                facts=facts | {"text": text},
            )
        )
    return found
