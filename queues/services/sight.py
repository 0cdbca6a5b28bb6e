"""What a person sees of the pools: their namespaces, and what the latest surveys found in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from queues.engine import FoundQueue
from queues.engine.errors import StoreUnavailableError, TaskqError
from queues.models import Pool
from queues.pools.reading import read_metadata

from .roles import roles_of
from .survey import NOTHING, Survey, Totals, read_surveys
from .visible import User, sees_everything

POOLS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSight:
    """A pool as one person sees it. `survey` None: it cannot be read; `trouble` says why, `is_away`: for want of an
    answer."""

    pool: str
    namespaces: frozenset[str]
    survey: Survey | None
    trouble: str = ""
    is_away: bool = False

    @property
    def is_known(self) -> bool:
        """Whether there is a survey, new or old."""
        return self.survey is not None and self.survey.taken_at_ms is not None

    @property
    def queues(self) -> Iterator[FoundQueue]:
        """Those of the person's namespaces, by namespace and as the survey came by."""
        if self.survey is not None:
            for namespace, queues in self.survey.queues.items():
                if namespace in self.namespaces:
                    yield from queues

    @property
    def totals(self) -> Totals:
        if self.survey is None:
            return NOTHING
        mine = [totals for namespace, totals in self.survey.totals.items() if namespace in self.namespaces]
        return reduce(Totals.plus, mine, NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """`sees_everything`: a superuser, who also sees pools without namespaces."""

    pools: tuple[PoolSight, ...]
    sees_everything: bool

    @property
    def totals(self) -> Totals:
        return reduce(Totals.plus, [view.totals for view in self.pools], NOTHING)

    @property
    def known_totals(self) -> Totals | None:
        """The sums of the pools that were surveyed; None: there are pools, and of none is anything known."""
        known = any(view.is_known for view in self.pools)
        return self.totals if known or not self.pools else None

    @property
    def away(self) -> tuple[str, ...]:
        """Pools of which nothing can be said."""
        return tuple(view.pool for view in self.pools if view.survey is None)

    @property
    def outdated(self) -> tuple[str, ...]:
        """Pools of which only old news can be told, or none yet."""
        return tuple(view.pool for view in self.pools if view.survey is not None and not view.survey.is_current)

    @property
    def namespaces(self) -> tuple[tuple[str, str], ...]:
        """Pool and name of each."""
        return tuple((view.pool, namespace) for view in self.pools for namespace in sorted(view.namespaces))


def see(*, user: User) -> Sight:
    """What `user` sees now, by pool: at most two queries and one round trip to each pool. Raises
    MetadataUnavailableError."""
    namespaces: dict[str, set[str]] = {}
    if sees_everything(user):
        names = Pool.objects.order_by("name").values_list("name", flat=True)[:POOLS_MAX]
        namespaces = {name: set() for name in read_metadata(lambda: list(names))}
    for pool, namespace in roles_of(user=user):
        namespaces.setdefault(pool, set()).add(namespace)
    surveys = read_surveys(pools=namespaces)
    pools = tuple(_sight(pool, frozenset(namespaces[pool]), surveys) for pool in sorted(namespaces))
    return Sight(pools=pools, sees_everything=sees_everything(user))


def totals_for(*, user: User) -> Totals:
    """Jobs by state and rates of all that `user` may see. Raises MetadataUnavailableError."""
    return see(user=user).totals


def _sight(pool: str, namespaces: frozenset[str], surveys: Mapping[str, Survey | TaskqError]) -> PoolSight:
    found = surveys[pool]
    if isinstance(found, Survey):
        return PoolSight(pool=pool, namespaces=namespaces, survey=found)
    return PoolSight(
        pool=pool,
        namespaces=namespaces,
        survey=None,
        trouble=str(found),
        is_away=isinstance(found, StoreUnavailableError),
    )
