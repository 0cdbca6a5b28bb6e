"""What a person sees at a glance: the namespaces that are theirs, the queues in them, and whether the pools answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import connections

from queues.engine import list_queues, stats
from queues.engine.errors import StoreUnavailableError, TaskqError
from queues.engine.values import QueueStats
from queues.models import Namespace
from queues.pools import engine_for, find_pool

NAMESPACES_SHOWN: Final = 50
QUEUES_SHOWN: Final = 100
"""Queues per namespace. A page is for reading; who has more asks the API, which pages."""

_POOLS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceOverview:
    """A namespace now. `queues` None: they cannot be read, `trouble` says why, `is_away` whether for want of an answer.

    `more`: it has more queues than are shown.
    """

    pool: str
    namespace: str
    description: str
    queues: tuple[QueueStats, ...] | None
    more: bool = False
    trouble: str = ""
    is_away: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """`more`: there are more namespaces than are shown."""

    namespaces: tuple[NamespaceOverview, ...]
    more: bool


def read_overview(*, user: AbstractBaseUser | AnonymousUser) -> Overview:
    """The namespaces that `user` may see, by pool and name. Pools are asked side by side: a dead one delays no other.

    Raises MetadataUnavailableError.
    """
    rows = Namespace.objects.visible_to(user).select_related("pool").order_by("pool__name", "name")
    found = list(rows[: NAMESPACES_SHOWN + 1])
    shown = found[:NAMESPACES_SHOWN]
    by_pool: dict[str, list[Namespace]] = {}
    for row in shown:
        by_pool.setdefault(row.pool.name, []).append(row)
    for pool in by_pool:
        find_pool(pool)  # so that the threads find the row in memory and need no database connection
    if not by_pool:
        return Overview(namespaces=(), more=False)
    with ThreadPoolExecutor(max_workers=min(len(by_pool), _POOLS_AT_ONCE)) as threads:
        parts = list(threads.map(_read_pool, by_pool.keys(), by_pool.values()))
    return Overview(namespaces=tuple(view for part in parts for view in part), more=len(found) > len(shown))


def _read_pool(pool: str, namespaces: list[Namespace]) -> list[NamespaceOverview]:
    try:
        return [_read_namespace(pool, namespace) for namespace in namespaces]
    except TaskqError as error:
        return [
            NamespaceOverview(
                pool=pool,
                namespace=row.name,
                description=row.description,
                queues=None,
                trouble=str(error),
                is_away=isinstance(error, StoreUnavailableError),
            )
            for row in namespaces
        ]
    finally:
        connections.close_all()  # those of this thread, if it needed any after all


def _read_namespace(pool: str, namespace: Namespace) -> NamespaceOverview:
    engine = engine_for(pool)
    page = engine.run(list_queues(engine.layout, namespace.name, limit=QUEUES_SHOWN))
    queues = engine.batch([stats(engine.queue(namespace.name, name)) for name in page.names])
    return NamespaceOverview(
        pool=pool,
        namespace=namespace.name,
        description=namespace.description,
        queues=tuple(queues),
        more=page.after is not None,
    )
