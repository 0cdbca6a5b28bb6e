"""What needs somebody's attention: queues that miss their objective, or have no consumer; pools that are away or in
trouble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from queues.engine import FoundQueue
from queues.models import QueuePolicy
from queues.models.policy import WHOLE_NAMESPACE
from queues.pools.database import read_metadata

from ...pools.ttl_cache import Recent
from .visible_queues import PoolSurvey, VisiblePool, VisiblePools

OBJECTIVE_S: Final = 300

FRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Objectives:
    """Of one pool: seconds by namespace and queue, WHOLE_NAMESPACE standing for the queues that have none."""

    seconds: Mapping[tuple[str, str], int]

    def of(self, namespace: str, queue: str) -> int:
        """The age in ms that no ready job of the queue should exceed."""
        found = self.seconds.get((namespace, queue)) or self.seconds.get((namespace, WHOLE_NAMESPACE))
        return (found or OBJECTIVE_S) * 1_000


_recent: Final[Recent[str, Objectives]] = Recent(FRESH_S)


def read_objectives(*, pool: str) -> Objectives:
    """Those of a pool, at most FRESH_S old; one query. Raises MetadataUnavailableError."""
    return _recent.get(pool, lambda: read_metadata(lambda: _read(pool)))


def _read(pool: str) -> Objectives:
    rows = QueuePolicy.objects.filter(namespace__pool__name=pool, objective_s__isnull=False).order_by()
    columns = rows.values_list("namespace__name", "queue", "objective_s")
    return Objectives(seconds={(namespace, queue): seconds for namespace, queue, seconds in columns if seconds})


NO_CONSUMER_MS: Final = 15_000
"""Ready jobs that nobody has taken for so long, while nobody works or waits, have no consumer."""

PUMP_LATE_MS: Final = 5_000

MEMORY_SHARE: Final = 0.9
"""Of the bound that is set for a Redis, if one is."""

EVENTS_DROPPED_MS: Final = 86_400_000
"""For so long after events were dropped they are a reason to look: the day's report lacks them."""


class Severity(StrEnum):
    """How soon somebody should look."""

    BAD = "bad"
    """Work stands still or is about to."""
    WARN = "warn"
    """Something goes wrong while work goes on."""


class QueueReason(StrEnum):
    """Why a queue needs attention, the worst first."""

    NO_CONSUMER = "no_consumer"
    OVERDUE = "overdue"
    DEAD_GROWING = "dead_growing"
    LEASES_LOST = "leases_lost"
    PAUSED_BACKLOG = "paused_backlog"


class PoolReason(StrEnum):
    """Why a pool needs attention, the worst first."""

    AWAY = "away"
    IN_TROUBLE = "in_trouble"
    NO_PUMP = "no_pump"
    PUMP_LATE = "pump_late"
    MEMORY = "memory"
    EVENTS_DROPPED = "events_dropped"


_BAD: Final = frozenset({QueueReason.NO_CONSUMER, PoolReason.AWAY, PoolReason.IN_TROUBLE, PoolReason.NO_PUMP})

_ORDER: Final = {reason: place for place, reason in enumerate(QueueReason)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolAttention:
    """`ms`: how late, or how long ago, where that is the reason. `trouble`: what the error says; for superusers."""

    pool: str
    reason: PoolReason
    ms: int = 0
    trouble: str = ""

    @property
    def severity(self) -> Severity:
        return Severity.BAD if self.reason in _BAD else Severity.WARN


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAttention:
    """A queue and all that is wrong with it. `oldest_ms`: age of its oldest ready job; `objective_ms`: its bound."""

    pool: str
    queue: FoundQueue
    reasons: tuple[QueueReason, ...]
    oldest_ms: int
    objective_ms: int

    @property
    def severity(self) -> Severity:
        """Twice the objective is bad; what is only paused was meant so."""
        late = QueueReason.OVERDUE in self.reasons and self.oldest_ms > 2 * self.objective_ms
        return Severity.BAD if late or _BAD.intersection(self.reasons) else Severity.WARN

    @property
    def order(self) -> tuple[bool, int, int, int]:
        return (self.severity is not Severity.BAD, _ORDER[self.reasons[0]], -self.oldest_ms, -self.queue.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """`queues`: the first of `count`."""

    pools: tuple[PoolAttention, ...]
    queues: tuple[QueueAttention, ...]
    count: int

    @property
    def total(self) -> int:
        return len(self.pools) + self.count

    @property
    def severity(self) -> Severity | None:
        """That of the worst."""
        found = {one.severity for one in self.pools} | {one.severity for one in self.queues}
        return next((severity for severity in Severity if severity in found), None)

    @property
    def is_needed(self) -> bool:
        return self.total > 0


def find_attention(visible: VisiblePools, *, most: int) -> Attention:
    """What is wrong with what somebody sees. Raises MetadataUnavailableError."""
    pools = tuple(found for view in visible.pools for found in _of_pool(view))
    queues = sorted(
        (found for view in visible.pools for found in attention_of_queues(view)), key=lambda found: found.order
    )
    return Attention(pools=pools, queues=tuple(queues[:most]), count=len(queues))


def attention_of_queues(view: VisiblePool) -> Iterator[QueueAttention]:
    """Those of a pool's queues that need attention. Old news needs none: that it is old is what is wrong."""
    survey = view.survey
    if survey is None or not survey.is_current:
        return
    objectives = read_objectives(pool=view.pool)
    for queue in view.queues:
        if found := _of_queue(survey, queue, objectives):
            yield found


def _of_queue(survey: PoolSurvey, queue: FoundQueue, objectives: Objectives) -> QueueAttention | None:
    reasons: list[QueueReason] = []
    oldest_ms = objective_ms = 0
    if queue.ready:
        objective_ms = objectives.of(queue.namespace, queue.queue)
        oldest_ms = queue.oldest_ready_ms(survey.read_at_ms) or 0
        if queue.paused:
            reasons.append(QueueReason.PAUSED_BACKLOG)
        else:
            idle = not (queue.working or queue.waited_for or queue.consumed_per_s)
            if idle and oldest_ms >= NO_CONSUMER_MS:
                reasons.append(QueueReason.NO_CONSUMER)
            if oldest_ms > objective_ms:
                reasons.append(QueueReason.OVERDUE)
    if queue.died:
        reasons.append(QueueReason.DEAD_GROWING)
    if queue.leases_lost:
        reasons.append(QueueReason.LEASES_LOST)
    if not reasons:
        return None
    return QueueAttention(
        pool=survey.pool,
        queue=queue,
        reasons=tuple(sorted(reasons, key=lambda reason: _ORDER[reason])),
        oldest_ms=oldest_ms,
        objective_ms=objective_ms,
    )


def _of_pool(view: VisiblePool) -> Iterator[PoolAttention]:
    survey = view.survey
    if survey is None:
        reason = PoolReason.AWAY if view.is_away else PoolReason.IN_TROUBLE
        yield PoolAttention(pool=view.pool, reason=reason, trouble=view.trouble)
        return
    if not survey.live_pumps:
        silent_ms = min((pump.age_ms for pump in survey.pumps), default=0)
        yield PoolAttention(pool=view.pool, reason=PoolReason.NO_PUMP, ms=silent_ms)
    elif survey.behind_ms > PUMP_LATE_MS:
        yield PoolAttention(pool=view.pool, reason=PoolReason.PUMP_LATE, ms=survey.behind_ms)
    store = survey.store
    if store is not None and store.max_memory and store.used_memory > MEMORY_SHARE * store.max_memory:
        yield PoolAttention(pool=view.pool, reason=PoolReason.MEMORY)
    dropped_at_ms = max((part.events_dropped_at_ms for part in survey.partitions), default=0)
    dropped_ms = max(0, survey.read_at_ms - dropped_at_ms)
    if dropped_at_ms and dropped_ms < EVENTS_DROPPED_MS:
        yield PoolAttention(pool=view.pool, reason=PoolReason.EVENTS_DROPPED, ms=dropped_ms)


def reasons_by_queue(view: VisiblePool) -> Mapping[tuple[str, str], QueueAttention]:
    """The same by namespace and queue."""
    return {(found.queue.namespace, found.queue.queue): found for found in attention_of_queues(view)}
