"""The roles: a file each. `roles_for` gives those of one pool, with their rhythm."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from queues.engine import FullStreams

from ..role import BackgroundRole
from . import deleter, groups, pump, reclaimer, relay, sweeper
from .bounds import DeadLetterBounds
from .drain import INTERVAL_S as DRAIN_INTERVAL_S
from .drain import Drain
from .schedules import Schedules
from .survey import INTERVAL_S as SURVEY_INTERVAL_S
from .survey import Survey

PUMP: Final = BackgroundRole(name="pump", interval_s=0.1, budget_s=1.0, tick=pump.tick)
GROUPS: Final = BackgroundRole(name="groups", interval_s=0.1, budget_s=1.0, tick=groups.tick)
RECLAIMER: Final = BackgroundRole(name="reclaimer", interval_s=0.2, budget_s=1.0, tick=reclaimer.tick, share=0.5)
RELAY: Final = BackgroundRole(name="relay", interval_s=0.1, budget_s=1.0, tick=relay.tick)
SWEEPER: Final = BackgroundRole(name="sweeper", interval_s=0.25, budget_s=0.15, tick=sweeper.tick)
DELETER: Final = BackgroundRole(name="deleter", interval_s=1.0, budget_s=5.0, tick=deleter.tick)


DRAIN_ALL_S: Final = 86_400.0


def roles_for(pool: str, *, once: bool = False) -> tuple[BackgroundRole, ...]:
    """All roles of a pool. Keep the answer: a role may remember where it was. `once`: for a single turn of each."""
    bounds = BackgroundRole(name="bounds", interval_s=10.0, budget_s=2.0, tick=DeadLetterBounds(pool).tick)
    survey = BackgroundRole(name="survey", interval_s=SURVEY_INTERVAL_S, budget_s=0.0, tick=Survey().tick)
    drain = BackgroundRole(
        name="drain",
        interval_s=DRAIN_INTERVAL_S,
        budget_s=DRAIN_ALL_S if once else 5.0,
        tick=Drain(
            pool,
            url=settings.TASKQ_LAKE_URL,
            every_s=settings.TASKQ_LAKE_EVERY_S,
            everything=once,
            notes_counts=True,
        ).tick,
        wait=None if once else FullStreams().wait,
    )
    firing = Schedules(pool)
    schedules = BackgroundRole(
        name="schedules", interval_s=0.25, budget_s=1.0, tick=firing.tick, wait=None if once else firing.wait
    )
    return (PUMP, GROUPS, RECLAIMER, RELAY, SWEEPER, DELETER, bounds, survey, drain, schedules)
