"""Burn rates of queues with an objective, for pages, metrics and incidents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queues.models import ObjectiveWindow
from queues.pools.database import read_metadata

from ..policies import policy_for
from .burn_rates import CELL_S, BurnRates, burn_rates, windows_of

STALE: Final = timedelta(seconds=3 * CELL_S)
"""Counts that are older say nothing of now: no pump has counted since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurningQueue:
    """A queue's objective and its burn rates up to `until`."""

    pool: str
    namespace: str
    queue: str
    objective_s: int
    rates: BurnRates
    until: datetime


def read_burn_rates(*, pool: str, namespace: str, queue: str) -> BurningQueue | None:
    """None: it has no objective, or nothing was counted yet. Raises MetadataUnavailableError."""
    if policy_for(pool=pool, namespace=namespace, queue=queue).objective_s is None:
        return None
    rows = ObjectiveWindow.objects.filter(namespace__pool__name=pool, namespace__name=namespace, queue=queue)
    return next(_of_rows(pool, read_metadata(lambda: list(rows.select_related("namespace")))), None)


def list_burn_rates(*, pool: str, now: datetime) -> list[BurningQueue]:
    """Of all queues of a pool that were counted lately, the fastest first. Raises MetadataUnavailableError."""
    rows = ObjectiveWindow.objects.filter(namespace__pool__name=pool, recorded_until__gt=now - STALE)
    return sorted(
        _of_rows(pool, read_metadata(lambda: list(rows.select_related("namespace")))),
        key=lambda one: (-one.rates.rates["1h"], one.namespace, one.queue),
    )


def _of_rows(pool: str, rows: Iterable[ObjectiveWindow]) -> Iterator[BurningQueue]:
    for row in rows:
        namespace = row.namespace.name
        policy = policy_for(pool=pool, namespace=namespace, queue=row.queue)
        if policy.objective_s is None:
            continue
        end_s = int(row.recorded_until.timestamp())
        rates = burn_rates(windows_of(row.counts), target=policy.target, end_s=end_s)
        yield BurningQueue(
            pool=pool,
            namespace=namespace,
            queue=row.queue,
            objective_s=policy.objective_s,
            rates=rates,
            until=row.recorded_until,
        )
