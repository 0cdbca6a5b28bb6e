"""Pools: find, add, list, and see whether they are fit to hold jobs.

A Redis is fit if it answers, keeps every key, and survives a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils.translation import gettext, gettext_noop

from queues.engine import StoreInfo, probe_store
from queues.engine.errors import InvalidArgumentError
from queues.engine.keys import LAYOUT_VERSION
from queues.engine.names import is_name
from queues.models import Pool
from queues.pools import check_pool_name

from ..errors import PoolExistsError, PoolNotFoundError

logger = logging.getLogger(__name__)


KEEPS_ALL_KEYS: Final = "noeviction"

PROBE_TIMEOUT_S = 2.0
_PROBES_AT_ONCE = 8


class ProblemKind(StrEnum):
    """Stable words for logs and `--json`."""

    UNREACHABLE = "unreachable"
    EVICTS = "evicts"
    NO_AOF = "no_aof"
    LAYOUT = "layout"
    PARTITIONS = "partitions"
    TOO_FEW_REPLICAS = "too_few_replicas"


class AdviceKind(StrEnum):
    """What could be better, though the pool is fit to hold jobs."""

    ALLOCATOR = "allocator"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProblem:
    """What is wrong, or could be better, and what to do about it: texts in English with places for `facts`.

    None holds a password.

    `text` and `hint` are English, for logs, commands and programs; `shown_text` and `shown_hint` the reader's language.
    """

    kind: ProblemKind | AdviceKind
    wrong: str
    advice: str
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.wrong % self.facts

    @property
    def hint(self) -> str:
        return self.advice % self.facts

    @property
    def shown_text(self) -> str:
        return gettext(self.wrong) % self.facts

    @property
    def shown_hint(self) -> str:
        return gettext(self.advice) % self.facts


def find_problems(store: StoreInfo, *, partitions: int, min_replicas: int) -> tuple[PoolProblem, ...]:
    """The problems of a pool that is meant to have so many partitions, and replicas that confirm publishes."""
    if not store.reachable:
        return (_unreachable(store),)
    candidates = (
        _evicts(store),
        _no_aof(store),
        _layout(store),
        _partitions(store, partitions),
        _too_few_replicas(store, min_replicas),
    )
    return tuple(problem for problem in candidates if problem is not None)


def find_advice(store: StoreInfo) -> tuple[PoolProblem, ...]:
    """What would make a Redis better that is fit, or not, as it is."""
    if store.allocator != "libc":
        return ()
    return (
        PoolProblem(
            kind=AdviceKind.ALLOCATOR,
            wrong=gettext_noop(
                "Redis uses the C library's memory allocator: it hardly ever gives memory back to the system, and "
                "freeing a large key at once (UNLINK, FLUSHDB) can stop it for seconds."
            ),
            advice=gettext_noop(
                "taskq frees in small steps. For other users of this Redis: take one built with jemalloc, or start it "
                "with GLIBC_TUNABLES=glibc.malloc.mxfast=0 in its environment."
            ),
        ),
    )


def _unreachable(store: StoreInfo) -> PoolProblem:
    return PoolProblem(
        kind=ProblemKind.UNREACHABLE,
        wrong=gettext_noop("Redis does not answer: %(error)s"),
        advice=gettext_noop(
            "Start it, or correct the pool's URL. Clients get 503 until then; no published job is lost."
        ),
        facts={"error": store.error},
    )


def _evicts(store: StoreInfo) -> PoolProblem | None:
    """A policy without `maxmemory` evicts nothing yet, but does so the day somebody sets a limit."""
    if store.eviction_policy in ("", None, KEEPS_ALL_KEYS):
        return None
    now = gettext_noop("Redis may delete jobs: maxmemory-policy is %(policy)s, which evicts keys at %(most)s bytes.")
    later = gettext_noop(
        "Redis may delete jobs: maxmemory-policy is %(policy)s, which evicts keys as soon as maxmemory is set."
    )
    return PoolProblem(
        kind=ProblemKind.EVICTS,
        wrong=now if store.max_memory else later,
        advice=gettext_noop(
            "Set `maxmemory-policy noeviction` in redis.conf. A full Redis then refuses publishes, and loses nothing."
        ),
        facts={"policy": store.eviction_policy, "most": f"{store.max_memory or 0:,}"},
    )


def _no_aof(store: StoreInfo) -> PoolProblem | None:
    if store.aof is not False:
        return None
    return PoolProblem(
        kind=ProblemKind.NO_AOF,
        wrong=gettext_noop("Redis forgets jobs when it restarts: its append-only file is off."),
        advice=gettext_noop(
            "Set `appendonly yes` in redis.conf (`CONFIG SET appendonly yes` turns it on while Redis runs)."
        ),
    )


def _layout(store: StoreInfo) -> PoolProblem | None:
    if store.layout_version in (None, LAYOUT_VERSION):
        return None
    return PoolProblem(
        kind=ProblemKind.LAYOUT,
        wrong=gettext_noop("The data has layout version %(found)s; this taskq reads version %(known)s."),
        advice=gettext_noop("Use the taskq that wrote it, or another Redis database for this pool."),
        facts={"found": store.layout_version, "known": LAYOUT_VERSION},
    )


def _partitions(store: StoreInfo, expected: int) -> PoolProblem | None:
    if store.partitions in (None, expected):
        return None
    return PoolProblem(
        kind=ProblemKind.PARTITIONS,
        wrong=gettext_noop("The data is spread over %(found)s partitions; this pool is meant to have %(meant)s."),
        advice=gettext_noop("Add the pool anew with %(found)s partitions, or use another Redis database for it."),
        facts={"found": store.partitions, "meant": expected},
    )


def _too_few_replicas(store: StoreInfo, wanted: int) -> PoolProblem | None:
    if store.replicas is None or store.replicas >= wanted:
        return None
    return PoolProblem(
        kind=ProblemKind.TOO_FEW_REPLICAS,
        wrong=gettext_noop(
            "Too few replicas, so publishes are answered 503: %(wanted)s must confirm each, %(found)s connected."
        ),
        advice=gettext_noop(
            "Connect more replicas (`INFO replication` lists them), or lower the pool's minimum of replicas."
        ),
        facts={"wanted": wanted, "found": store.replicas},
    )


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
    for name_of_field, value in changes.items():
        setattr(row, name_of_field, value)
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
