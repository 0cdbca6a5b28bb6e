"""Pools: find, add, list, and see whether they are fit to hold jobs."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Count

from queues.engine import StoreInfo, probe_store
from queues.engine.errors import InvalidArgumentError
from queues.engine.names import is_name
from queues.models import Pool
from queues.pools import check_pool_name

from ..errors import PoolExistsError, PoolNotFoundError
from .problems import PoolProblem, find_advice, find_problems

logger = logging.getLogger(__name__)

PROBE_TIMEOUT_S = 2.0
_PROBES_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInfo:
    """A pool as lists show it. `shown_url`: its password masked."""

    name: str
    shown_url: str
    partitions: int
    min_replicas: int
    events_memory_mb: int | None
    description: str
    namespaces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """A pool, what its Redis says of itself, and what is wrong with that. No problems: fit to hold jobs.

    `advice`: what could be better all the same.
    """

    pool: str
    shown_url: str
    store: StoreInfo
    problems: tuple[PoolProblem, ...]
    advice: tuple[PoolProblem, ...]


def add_pool(
    *,
    name: str,
    url: str,
    partitions: int | None = None,
    min_replicas: int = 0,
    events_memory_mb: int | None = None,
    description: str = "",
) -> PoolInfo:
    """Make a pool. `partitions` None: those its Redis was set up with, else the default.

    The server need not answer: a pool may be added before it runs. Raises InvalidArgumentError, PoolExistsError.
    """
    if is_name(name) and Pool.objects.filter(name=name).exists():
        raise PoolExistsError
    row = Pool(
        name=name, url=url, min_replicas=min_replicas, events_memory_mb=events_memory_mb, description=description
    )
    row.partitions = partitions or probe_store(url, timeout_s=PROBE_TIMEOUT_S).partitions or row.partitions
    _validate(row)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise PoolExistsError from None
    logger.info("pool added", extra={"action": "pool.add", "pool": name, "url": row.shown_url})
    return _info(row, namespaces=0)


def change_pool(*, name: str, **changes: int | None) -> PoolInfo:
    """Change `min_replicas` or `events_memory_mb` of a pool. Running processes follow within a second or two.

    Raises PoolNotFoundError, InvalidArgumentError.
    """
    row = find_pool_row(name)
    for field, value in changes.items():
        setattr(row, field, value)
    _validate(row)
    row.save(update_fields=list(changes))
    logger.info("pool changed", extra={"action": "pool.change", "pool": name, **changes})
    return _info(row, namespaces=row.namespaces.count())


def _validate(row: Pool) -> None:
    try:
        row.full_clean()
    except ValidationError as error:
        raise InvalidArgumentError("; ".join(_lines(error))) from error


def list_pools() -> list[PoolInfo]:
    """All pools by name."""
    rows = Pool.objects.annotate(namespace_count=Count("namespaces")).order_by("name")
    return [_info(row, namespaces=row.namespace_count) for row in rows]


def check_pool(*, name: str) -> PoolReport:
    """Ask the pool's Redis now. Raises PoolNotFoundError, but nothing for a Redis fault: that is what it reports."""
    return check_rows([find_pool_row(name)])[0]


def check_pools() -> list[PoolReport]:
    """Ask all pools now, side by side."""
    return check_rows(list(Pool.objects.all()))


def check_rows(rows: list[Pool]) -> list[PoolReport]:
    """The same for rows at hand, saved or not. What is wrong is logged as well."""
    if not rows:
        return []
    with ThreadPoolExecutor(max_workers=min(len(rows), _PROBES_AT_ONCE)) as threads:
        stores = list(
            threads.map(lambda url: probe_store(url, timeout_s=PROBE_TIMEOUT_S), [r.effective_url for r in rows])
        )
    reports = [_report(row, store) for row, store in zip(rows, stores, strict=True)]
    for report in reports:
        for problem in report.problems:
            fields = {"pool": report.pool, "problem": problem.kind.value, "detail": problem.text}
            logger.warning("pool has a problem", extra={"action": "pool.check", **fields})
    return reports


def _report(row: Pool, store: StoreInfo) -> PoolReport:
    problems = find_problems(store, partitions=row.partitions, min_replicas=row.min_replicas)
    advice = find_advice(store)
    return PoolReport(pool=row.name, shown_url=row.shown_url, store=store, problems=problems, advice=advice)


def _info(row: Pool, *, namespaces: int) -> PoolInfo:
    return PoolInfo(
        name=row.name,
        shown_url=row.shown_url,
        partitions=row.partitions,
        min_replicas=row.min_replicas,
        events_memory_mb=row.events_memory_mb,
        description=row.description,
        namespaces=namespaces,
    )


def _lines(error: ValidationError) -> list[str]:
    return [f"{field}: {message}" for field, messages in error.message_dict.items() for message in messages]


def find_pool_row(name: str) -> Pool:
    """Raises PoolNotFoundError."""
    check_pool_name(name)
    try:
        return Pool.objects.get(name=name)
    except Pool.DoesNotExist:
        raise PoolNotFoundError from None
