"""How a queue of the demo data fares in an hour: the rhythm of days and weeks, chance, and incidents.

Whatever is drawn is the same for the same seed on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random
from typing import Final

from .demo_incidents import (
    BAD_DEPLOY_ERROR,
    BAD_DEPLOY_FAILING,
    LOSING,
    MORE_TRAFFIC,
    POISON_ERROR,
    POISONED,
    SLOWER,
    Incident,
    IncidentKind,
)
from .demo_shape import Queue, crowding_in_hour, dice, share_of_day

DAY_VARIES: Final = 0.04
QUEUE_VARIES: Final = 0.05
HOUR_VARIES: Final = 0.08
"""How widely traffic varies from day to day (all queues together, and each), and from hour to hour: the standard
deviation of its logarithm."""

FLAWS_VARY: Final = 0.25
"""The same of the shares of attempts that fail or lose their lease, from day to day."""

WAITS_VARY: Final = 0.12
RUNS_VARY: Final = 0.04

GROWTH: Final = 0.01
"""Of traffic, in a week."""

HOLIDAY: Final = 0.35
"""Traffic of a holiday."""

KNUTH_MOST: Final = 30.0
"""Up to here chance counts are drawn one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Of a queue in an hour. `queue`: with the shares and medians that hold then; `jobs` are published; `poisoned`: the
    share of them that fails at each attempt. `away`: hours of this day, from and to, without a consumer."""

    queue: Queue
    jobs: int
    wait_ms: float
    poisoned: float = 0.0
    away: tuple[int, int] | None = None


def conditions_of(
    queue: Queue,
    *,
    first: date,
    day: date,
    hour: int,
    jobs_per_day: int,
    seed: int,
    incidents: Sequence[Incident],
    holidays: Collection[date],
) -> Conditions:
    """`first`: since when traffic grows; `jobs_per_day`: of an ordinary working day, all queues."""
    daily = dice(f"{seed} {day} {queue.name}")
    flaws, waits, runs = (math.exp(daily.gauss(0, sigma)) for sigma in (FLAWS_VARY, WAITS_VARY, RUNS_VARY))
    busy = math.exp(dice(f"{seed} {day}").gauss(0, DAY_VARIES) + daily.gauss(0, QUEUE_VARIES))
    hourly = dice(f"{seed} {day} {hour} {queue.name}")
    busy *= math.exp(hourly.gauss(0, HOUR_VARIES)) * (1 + GROWTH) ** ((day - first) / timedelta(weeks=1))
    if day in holidays:
        busy *= HOLIDAY
    queue = replace(queue, failing=queue.failing * flaws, losing=queue.losing * flaws, run_ms=queue.run_ms * runs)
    wait_ms = queue.wait_ms * waits * crowding_in_hour(queue, day=day, hour=hour)
    found = Conditions(queue=queue, jobs=0, wait_ms=wait_ms)
    for one in incidents:
        if one.holds(queue=queue.name, day=day, hour=hour):
            found = _struck(found, one.kind)
            busy *= {IncidentKind.SILENT_QUEUE: 0.0, IncidentKind.DOUBLED_TRAFFIC: MORE_TRAFFIC}.get(one.kind, 1.0)
        if one.kind is IncidentKind.OUTAGE and (one.queue, one.day) == (queue.name, day):
            found = replace(found, away=(one.first_hour, one.last_hour))
    jobs = _by_chance(hourly, jobs_per_day * queue.share * share_of_day(day, hour) * busy)
    return replace(found, jobs=jobs)


def _struck(found: Conditions, kind: IncidentKind) -> Conditions:
    """During an incident of this kind."""
    match kind:
        case IncidentKind.BAD_DEPLOY:
            return replace(found, queue=replace(found.queue, failing=BAD_DEPLOY_FAILING, errors=(BAD_DEPLOY_ERROR,)))
        case IncidentKind.SLOW_CONSUMERS:
            return replace(found, wait_ms=found.wait_ms * SLOWER + 1_000)
        case IncidentKind.DEAD_JOBS:
            errors = (*found.queue.errors, POISON_ERROR)
            return replace(found, poisoned=POISONED, queue=replace(found.queue, errors=errors))
        case IncidentKind.LOST_LEASES:
            return replace(found, queue=replace(found.queue, losing=LOSING))
    return found


def _by_chance(draw: Random, expected: float) -> int:
    """A count of events that come independently: Poisson's distribution; where it is wide, the normal one."""
    if expected > KNUTH_MOST:
        return max(round(draw.gauss(expected, math.sqrt(expected))), 0)
    product, count = draw.random(), 0
    while product > math.exp(-expected):
        product *= draw.random()
        count += 1
    return count
