"""What the person on call sees first: sums, open incidents, and how pools and pumps are doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from queues.engine import RoleBeat

from .incident_watch.visible_incidents import read_open_incidents
from .incidents.lines import OpenIncidents
from .permissions import User
from .queues.visible_queues import Totals, VisiblePool, VisiblePools, visible_pools


@dataclass(frozen=True, slots=True, kw_only=True)
class PumpRow:
    """A pump process. `late_ms`: how late its pump role began its latest turn, by its own account."""

    pool: str
    host: str
    process: str
    age_ms: int
    up_ms: int
    late_ms: int
    jobs: int
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """A pool. `behind_ms`: how long the earliest job that a pump should have moved has waited for it.

    `totals` None: not known.

    `memory_share`: of the bound set for its Redis, 0..1; None: no bound, or not known.
    """

    view: VisiblePool
    totals: Totals | None
    pumps: tuple[PumpRow, ...]
    behind_ms: int
    events_dropped: int
    memory_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """`taken_at_ms`: of the oldest of the surveys; None: there is none."""

    visible: VisiblePools
    totals: Totals
    incidents: OpenIncidents
    pools: tuple[PoolRow, ...]
    taken_at_ms: int | None
    left_out: int

    @property
    def has_namespaces(self) -> bool:
        return any(view.namespaces for view in self.visible.pools)


def read_overview(*, user: User) -> Overview:
    """What `user` may see: a bounded number of queries, and one round trip to each pool. Raises
    MetadataUnavailableError."""
    visible = visible_pools(user=user)
    surveys = [view.survey for view in visible.pools if view.survey is not None]
    times = [survey.taken_at_ms for survey in surveys if survey.taken_at_ms is not None]
    return Overview(
        visible=visible,
        totals=visible.totals,
        incidents=read_open_incidents(user=user, visible=visible),
        pools=tuple(_pool_row(view) for view in visible.pools),
        taken_at_ms=min(times, default=None),
        left_out=sum(survey.left_out for survey in surveys),
    )


def _pool_row(view: VisiblePool) -> PoolRow:
    survey = view.survey
    store = survey.store if survey else None
    share = store.used_memory / store.max_memory if store and store.max_memory else None
    return PoolRow(
        view=view,
        totals=view.totals if view.is_known else None,
        pumps=_pump_rows(view),
        behind_ms=survey.behind_ms if survey else 0,
        events_dropped=sum(part.events_dropped for part in survey.partitions) if survey else 0,
        memory_share=share,
    )


def _pump_rows(view: VisiblePool) -> tuple[PumpRow, ...]:
    """Those that live, and the latest of those that do not if none does."""
    survey = view.survey
    if survey is None:
        return ()
    live = survey.live_pumps
    shown = live or tuple(sorted(survey.pumps, key=lambda pump: pump.age_ms)[:1])
    rows = []
    for pump in shown:
        host, _, rest = pump.pump.partition(":")
        roles: Mapping[str, RoleBeat] = pump.roles
        rows.append(
            PumpRow(
                pool=view.pool,
                host=host,
                process=rest.partition(":")[0],
                age_ms=pump.age_ms,
                up_ms=pump.up_ms,
                late_ms=roles["pump"].late_ms if "pump" in roles else 0,
                jobs=sum(role.jobs for role in roles.values()),
                is_live=pump in live,
            )
        )
    return tuple(rows)
