"""The table of roles: what each does in a tick, and how often. `roles_for` gives those of one pool.

A role whose tick is one operation of the engine is a line of the table. One that remembers something between two ticks
has a file here: `bounds`, `counts`, `drain`, `objectives`, `schedules` and `survey`.
"""

from __future__ import annotations

from typing import Final, Protocol

from django.conf import settings

from queues.engine import (
    Counts,
    Engine,
    FullStreams,
    Layout,
    attend_workflows,
    flush_due,
    free_deleted,
    promote_due,
    reclaim_ended,
    relay,
    sweep,
)
from queues.engine.operation import Plan

from ..role import BackgroundRole, Tick
from .bounds import DeadLetterBounds
from .counts import BUDGET_S as COUNTS_BUDGET_S
from .counts import INTERVAL_S as COUNTS_INTERVAL_S
from .counts import SHARE as COUNTS_SHARE
from .counts import CountsRole
from .drain import INTERVAL_S as DRAIN_INTERVAL_S
from .drain import Drain
from .objectives import ObjectiveCounts
from .schedules import Schedules
from .survey import INTERVAL_S as SURVEY_INTERVAL_S
from .survey import Survey


class _Step(Protocol):
    """An operation that does a bounded part of what is due in all partitions of a pool."""

    def __call__(self, layout: Layout, *, now_ms: int | None = None) -> Plan[Counts]: ...


def _tick_of(step: _Step) -> Tick:
    return lambda engine, now_ms: engine.run(step(engine.layout, now_ms=now_ms))


def free_deleted_queues(engine: Engine, _now_ms: int | None) -> Counts:
    """Free the next part of each deleted queue, in small steps with pauses (`queues.engine.transport.batch_queue`)."""
    return engine.run(free_deleted(engine.layout))


def carry_messages(engine: Engine, now_ms: int | None) -> Counts:
    """Carry a bounded part of what is outgoing in each partition. Nothing is, but where jobs depend on others.

    Then attend to workflows that have something to do.
    """
    carried = engine.run(relay(engine.layout, now_ms=now_ms))
    attended = engine.run(attend_workflows(engine.layout, now_ms=now_ms))
    return Counts(jobs=carried.jobs, more=carried.more or attended.more)


# Delayed and failed jobs that have become due → ready.
PUMP: Final = BackgroundRole(name="pump", interval_s=0.1, budget_s=1.0, tick=_tick_of(promote_due))
# Members of groups whose delay is over join; groups whose time has come are flushed.
GROUPS: Final = BackgroundRole(name="groups", interval_s=0.1, budget_s=1.0, tick=_tick_of(flush_due))
# Jobs whose lease ran out → ready, retry or dead; completed jobs whose retention ended → gone.
RECLAIMER: Final = BackgroundRole(
    name="reclaimer", interval_s=0.2, budget_s=1.0, tick=_tick_of(reclaim_ended), share=0.5
)
# Tells other partitions what concerns them, where the caller that caused it did not.
RELAY: Final = BackgroundRole(name="relay", interval_s=0.1, budget_s=1.0, tick=carry_messages)
# Expired jobs and idempotency keys → gone; tombstones → out of the ready lists.
SWEEPER: Final = BackgroundRole(name="sweeper", interval_s=0.25, budget_s=0.15, tick=_tick_of(sweep))
# What deleted queues held → freed.
DELETER: Final = BackgroundRole(name="deleter", interval_s=1.0, budget_s=5.0, tick=free_deleted_queues)

ONCE_S: Final = 86_400.0


def roles_for(pool: str, *, once: bool = False) -> tuple[BackgroundRole, ...]:
    """All roles of a pool. Keep the answer: a role may remember where it was. `once`: for a single turn of each."""
    bounds = BackgroundRole(name="bounds", interval_s=10.0, budget_s=2.0, tick=DeadLetterBounds(pool).tick)
    objectives = BackgroundRole(name="objectives", interval_s=10.0, budget_s=0.0, tick=ObjectiveCounts(pool).tick)
    survey = BackgroundRole(name="survey", interval_s=SURVEY_INTERVAL_S, budget_s=0.0, tick=Survey().tick)
    drain = BackgroundRole(
        name="drain",
        interval_s=DRAIN_INTERVAL_S,
        budget_s=ONCE_S if once else 5.0,
        tick=Drain(
            pool,
            url=settings.TASKQ_LAKE_URL,
            every_s=settings.TASKQ_LAKE_EVERY_S,
            everything=once,
        ).tick,
        wait=None if once else FullStreams().wait,
    )
    counts = BackgroundRole(
        name="counts",
        interval_s=COUNTS_INTERVAL_S,
        budget_s=ONCE_S if once else COUNTS_BUDGET_S,
        tick=CountsRole(pool, url=settings.TASKQ_LAKE_URL).tick,
        share=1.0 if once else COUNTS_SHARE,
    )
    firing = Schedules(pool)
    schedules = BackgroundRole(
        name="schedules", interval_s=0.25, budget_s=1.0, tick=firing.tick, wait=None if once else firing.wait
    )
    return (PUMP, GROUPS, RECLAIMER, RELAY, SWEEPER, DELETER, bounds, objectives, survey, drain, counts, schedules)
