"""Incidents of the demo data: what goes wrong, where and when. They are the truth that alarms are measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from random import Random
from typing import Any, Final

from .demo_shape import QUEUES, Queue, dice


class IncidentKind(StrEnum):
    """What goes wrong with a queue."""

    BAD_DEPLOY = "bad deploy"
    """Most attempts fail."""
    SLOW_CONSUMERS = "slow consumers"
    """Jobs wait forty times as long."""
    SILENT_QUEUE = "silent queue"
    """Nothing is published all day."""
    DOUBLED_TRAFFIC = "doubled traffic"
    """More than twice as much is published all day."""
    DEAD_JOBS = "dead jobs"
    """Some jobs fail at each attempt."""
    OUTAGE = "outage"
    """For an hour there is no consumer."""
    LOST_LEASES = "lost leases"
    """Consumers die with jobs in hand."""


ALL_DAY: Final = frozenset({IncidentKind.SILENT_QUEUE, IncidentKind.DOUBLED_TRAFFIC})

BAD_DEPLOY_FAILING: Final = 0.7
BAD_DEPLOY_ERROR: Final = "KeyError: 'unsubscribe_url' in template {}"
SLOWER: Final = 40.0
MORE_TRAFFIC: Final = 2.2
POISONED: Final = 0.15
POISON_ERROR: Final = "ValidationError: field {} is missing"
LOSING: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Holds from `first_hour` to before `last_hour` of `day` (UTC)."""

    kind: IncidentKind
    day: date
    queue: str
    first_hour: int = 0
    last_hour: int = 24

    def holds(self, *, queue: str, day: date, hour: int) -> bool:
        """Whether it goes on then and there."""
        return (self.queue, self.day) == (queue, day) and self.first_hour <= hour < self.last_hour

    def as_json(self) -> dict[str, Any]:
        """What a list of them says of it."""
        return {
            "kind": self.kind.value,
            "day": self.day.isoformat(),
            "queue": self.queue,
            "first_hour": self.first_hour,
            "last_hour": self.last_hour,
        }

    def __str__(self) -> str:
        return f"{self.day}  {self.first_hour:02}:00-{self.last_hour:02}:00  {self.queue}: {self.kind}"


HISTORY_DAYS: Final = 28
"""No incident comes before there is something to compare its day with."""

DAYS_EACH: Final = 3
"""So many days there are for each incident."""

_BEHIND: Final = "video-transcode"
"""Its jobs wait for hours on any day, which hides that they wait longer."""

_SMALL: Final = "exports"
"""Has 40 of 20,000 jobs a day. Of each kind of `_STRIKING_SOME`, one to three of them would be struck, which happens by
chance on other days, too: nobody could say that there was an incident."""

_STRIKING_SOME: Final = frozenset({IncidentKind.DEAD_JOBS, IncidentKind.LOST_LEASES, IncidentKind.OUTAGE})
"""Kinds that strike a share of the jobs of a few hours, or those of one hour."""


def draw_incidents(*, first: date, days: int, seed: int, quiet: Sequence[date] = ()) -> tuple[Incident, ...]:
    """Incidents in all days but the first HISTORY_DAYS, at most one a day, all kinds in turn, by day.

    `quiet`: days without any, such as holidays.
    """
    draw = dice(f"{seed} incidents")
    possible = [first + timedelta(days=number) for number in range(HISTORY_DAYS, days)]
    possible = [day for day in possible if day not in quiet]
    chosen = draw.sample(possible, len(possible) // DAYS_EACH)
    kinds = list(IncidentKind)
    draw.shuffle(kinds)
    found = [_draw(draw, kinds[number % len(kinds)], day) for number, day in enumerate(chosen)]
    return tuple(sorted(found, key=lambda one: one.day))


def _draw(draw: Random, kind: IncidentKind, day: date) -> Incident:
    queues = [queue for queue in QUEUES if _shows(queue, kind)]
    queue = draw.choice(queues).name
    if kind in ALL_DAY:
        return Incident(kind=kind, day=day, queue=queue)
    first_hour = draw.randint(8, 13)
    length = 1 if kind is IncidentKind.OUTAGE else draw.randint(3, 8)
    return Incident(kind=kind, day=day, queue=queue, first_hour=first_hour, last_hour=first_hour + length)


def _shows(queue: Queue, kind: IncidentKind) -> bool:
    """Whether an incident of this kind could be told from chance in this queue."""
    if queue.name == _SMALL:
        return kind not in _STRIKING_SOME
    return queue.name != _BEHIND or kind not in (IncidentKind.SLOW_CONSUMERS, IncidentKind.OUTAGE)


def draw_holiday(*, first: date, days: int, seed: int) -> date | None:
    """A working day on which little happens; None: there are too few days."""
    working = [first + timedelta(days=number) for number in range(HISTORY_DAYS, days)]
    working = [day for day in working if day.weekday() < 5]
    return dice(f"{seed} holiday").choice(working) if working else None
