"""Burn rates of queues with an objective, for pages, metrics and incidents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queues.models import ObjectiveWindow
from queues.pools.database import read_metadata

from ...pools.ttl_cache import Recent
from ..policies import policy_for
from .burn_rates import CELL_S, BurnRates, burn_rates, windows_of

STALE: Final = timedelta(seconds=3 * CELL_S)
"""Counts that are older say nothing of now: no pump has counted since."""

LISTED_FOR_S: Final = 60.0
"""So long the rates of all queues of a pool are kept, unless they were counted anew before."""


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
    """Of all queues of a pool that were counted lately, the fastest first. Raises MetadataUnavailableError.

    The watch and the metrics ask every few seconds, and the pump counts every five minutes: until it has counted again
    this costs one short query, and a change of an objective is seen LISTED_FOR_S later.
    """
    latest = latest_count(pool=pool)
    if latest is None or latest <= now - STALE:
        return []
    listed = _lists.get(pool, lambda: _list(pool, latest, now), holds=lambda known: known.latest == latest)
    return [one for one in listed.queues if one.until > now - STALE]


def latest_count(*, pool: str) -> datetime | None:
    """Up to when a pump has counted; None: never. Raises MetadataUnavailableError."""
    rows = ObjectiveWindow.objects.filter(namespace__pool__name=pool).order_by("-recorded_until")
    return read_metadata(rows.values_list("recorded_until", flat=True).first)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """All queues of a pool, from counts up to `latest`."""

    latest: datetime
    queues: tuple[BurningQueue, ...]


_lists: Final[Recent[str, _Listed]] = Recent(LISTED_FOR_S)


def _list(pool: str, latest: datetime, now: datetime) -> _Listed:
    rows = ObjectiveWindow.objects.filter(namespace__pool__name=pool, recorded_until__gt=now - STALE)
    found = _of_rows(pool, read_metadata(lambda: list(rows.select_related("namespace"))))
    fastest = sorted(found, key=lambda one: (-one.rates.rates["1h"], one.namespace, one.queue))
    return _Listed(latest=latest, queues=tuple(fastest))


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
