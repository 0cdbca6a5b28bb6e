"""What a queue's policy and its namespace's policy say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeVar

from queues.engine import constants, preview_backoff
from queues.engine.backoff import NO_BACKOFF, Backoff, parse_backoff
from queues.engine.queue_limits import NO_LIMITS, ConsumeLimits, parse_weights
from queues.engine.values import HashedOnce
from queues.models import QueuePolicy
from queues.models.policy import (
    OBJECTIVE_S,
    OBJECTIVE_TARGET,
    OBJECTIVE_TARGET_MAX,
    OBJECTIVE_TARGET_MIN,
    WHOLE_NAMESPACE,
)
from queues.pools import reading_engine_for
from queues.pools.cache_invalidation import NoticeKind, subscribe, subscribe_to_gaps
from queues.pools.database import read_metadata
from queues.pools.ttl_cache import TtlCache

N = TypeVar("N", int, float)

ALL_QUEUES: Final = WHOLE_NAMESPACE
"""The queue of the policy from which all queues of a namespace inherit."""

TARGET_MIN: Final = OBJECTIVE_TARGET_MIN
TARGET_MAX: Final = OBJECTIVE_TARGET_MAX
"""Bounds of the share of deliveries that an objective asks for."""


@dataclass(frozen=True, kw_only=True)
class EffectivePolicy(HashedOnce):
    """None: nobody set it, so taskq's own default holds. Times in seconds."""

    tries: int | None = None
    ttl_s: int | None = None
    ttr_s: int | None = None
    backoff: Backoff | None = None
    max_in_flight: int | None = None
    dead_max_age_s: int | None = None
    dead_max_count: int | None = None
    objective_s: int | None = None
    objective_target: float | None = None
    rate: float | None = None
    burst: int | None = None
    key_in_flight: int | None = None
    key_rate: float | None = None
    key_burst: int | None = None
    key_weight: int | None = None
    key_weights: str = ""
    group_max_size: int | None = None
    group_max_delay_s: int | None = None
    group_grace_period_s: int | None = None

    __hash__ = HashedOnce.__hash__

    @property
    def target(self) -> float:
        """Which share of deliveries has to come within the objective."""
        return OBJECTIVE_TARGET if self.objective_target is None else self.objective_target

    @cached_property
    def queue_limits(self) -> ConsumeLimits | None:
        """What consume enforces of these; None if it is nothing."""
        queue_limits = ConsumeLimits(
            rate=self.rate or 0.0,
            burst=self.burst or 1,
            key_in_flight=self.key_in_flight or 0,
            key_rate=self.key_rate or 0.0,
            key_burst=self.key_burst or 1,
            default_weight=self.key_weight or 1,
            weights=parse_weights(self.key_weights),
        )
        return None if queue_limits == NO_LIMITS else queue_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadBounds:
    """Bounds of dead letters that somebody set. `queue` "": every queue of the namespace without bounds of its own."""

    namespace: str
    queue: str
    max_age_s: int | None
    max_count: int | None


NO_POLICY = EffectivePolicy()

DEFAULTS: Final = EffectivePolicy(
    tries=constants.DEFAULT_TRIES,
    ttl_s=constants.DEFAULT_TTL_S,
    ttr_s=constants.DEFAULT_TTR_S,
    backoff=NO_BACKOFF,
    objective_s=OBJECTIVE_S,
    objective_target=OBJECTIVE_TARGET,
    burst=1,
    key_burst=1,
    key_weight=1,
    group_max_size=constants.GROUP_DEFAULT_SIZE,
    group_max_delay_s=constants.GROUP_DEFAULT_DELAY_S,
    group_grace_period_s=constants.GROUP_DEFAULT_GRACE_S,
)
"""What taskq does where nobody says otherwise. None: nothing is limited."""

_by_namespace: TtlCache[tuple[str, str], Mapping[str, EffectivePolicy]] = TtlCache()


def policy_for(*, pool: str, namespace: str, queue: str) -> EffectivePolicy:
    """What holds for the queue, at most a second old. Raises MetadataUnavailableError.

    All policies of a namespace are read at once: people make them, so there are few, while queues may be many.
    """
    policies = _by_namespace.get((pool, namespace), lambda _old: _read(pool, namespace))
    return _of(policies, queue)


def peek_policy(*, pool: str, namespace: str, queue: str) -> EffectivePolicy | None:
    """The same from memory alone, for callers on an event loop. None says nothing: ask `policy_for` in a thread."""
    policies = _by_namespace.peek((pool, namespace))
    return None if policies is None else _of(policies, queue)


def inherited_policy(*, pool: str, namespace: str, queue: str) -> EffectivePolicy:
    """What holds where the policy of the queue, or of the namespace (`queue` ""), says nothing. As it is now."""
    if queue == WHOLE_NAMESPACE:
        return DEFAULTS
    own = read_metadata(lambda: _read(pool, namespace)).get(WHOLE_NAMESPACE, NO_POLICY)
    chosen = {name: value for name in DEFAULTS.__dataclass_fields__ if (value := getattr(own, name)) not in (None, "")}
    return replace(DEFAULTS, **chosen)


def preview_waits(*, pool: str, backoff: Backoff, attempts: int) -> tuple[tuple[int, int], ...]:
    """The shortest and longest wait in ms after each failed attempt, computed by the pool's Redis.

    Raises StoreUnavailableError.
    """
    return reading_engine_for(pool).run(preview_backoff(backoff, attempts=attempts))


def list_dead_bounds(*, pool: str) -> list[DeadBounds]:
    """For the role that trims dead letters: every policy of the pool that bounds them, by namespace, queue.

    Raises MetadataUnavailableError.
    """
    return read_metadata(lambda: _read_dead_bounds(pool))


def _read_dead_bounds(pool: str) -> list[DeadBounds]:
    rows = QueuePolicy.objects.filter(namespace__pool__name=pool).exclude(dead_max_age_s=None, dead_max_count=None)
    columns = ("namespace__name", "queue", "dead_max_age_s", "dead_max_count")
    return [
        DeadBounds(namespace=namespace, queue=queue, max_age_s=max_age_s, max_count=max_count)
        for namespace, queue, max_age_s, max_count in rows.order_by(*columns[:2]).values_list(*columns)
    ]


def _reread_namespace(pool: str, namespace: str) -> None:
    _by_namespace.expire(lambda key, _policies: key == (pool, namespace))


def _reread_pool(pool: str) -> None:
    _by_namespace.expire(lambda key, _policies: key[0] == pool)


subscribe(NoticeKind.POLICY_CHANGED, _reread_namespace)
subscribe(NoticeKind.NAMESPACE_DELETED, _reread_namespace)
subscribe_to_gaps(_reread_pool)


def _of(policies: Mapping[str, EffectivePolicy], queue: str) -> EffectivePolicy:
    return policies.get(queue) or policies.get(WHOLE_NAMESPACE) or NO_POLICY


def _read(pool: str, namespace: str) -> Mapping[str, EffectivePolicy]:
    rows = QueuePolicy.objects.filter(namespace__name=namespace, namespace__pool__name=pool).order_by("queue")
    return {queue: policy for (_namespace, queue), policy in effective_policies(rows).items()}


def effective_policies(rows: Iterable[QueuePolicy]) -> dict[tuple[int, str], EffectivePolicy]:
    """What holds, by number of the namespace and queue, with what queues inherit. `rows`: a namespace's own first."""
    policies: dict[tuple[int, str], EffectivePolicy] = {}
    for row in rows:
        place = row.namespace_id
        policies[place, row.queue] = _inherit(row, policies.get((place, WHOLE_NAMESPACE), NO_POLICY))
    return policies


def _inherit(row: QueuePolicy, base: EffectivePolicy) -> EffectivePolicy:
    def own(value: N | None, inherited: N | None) -> N | None:
        return inherited if value is None else value

    return EffectivePolicy(
        tries=own(row.tries, base.tries),
        ttl_s=own(row.ttl_s, base.ttl_s),
        ttr_s=own(row.ttr_s, base.ttr_s),
        backoff=parse_backoff(row.backoff) if row.backoff else base.backoff,
        max_in_flight=own(row.max_in_flight, base.max_in_flight),
        dead_max_age_s=own(row.dead_max_age_s, base.dead_max_age_s),
        dead_max_count=own(row.dead_max_count, base.dead_max_count),
        objective_s=own(row.objective_s, base.objective_s),
        objective_target=own(row.objective_target, base.objective_target),
        rate=own(row.rate, base.rate),
        burst=own(row.burst, base.burst),
        key_in_flight=own(row.key_in_flight, base.key_in_flight),
        key_rate=own(row.key_rate, base.key_rate),
        key_burst=own(row.key_burst, base.key_burst),
        key_weight=own(row.key_weight, base.key_weight),
        key_weights=row.key_weights or base.key_weights,
        group_max_size=own(row.group_max_size, base.group_max_size),
        group_max_delay_s=own(row.group_max_delay_s, base.group_max_delay_s),
        group_grace_period_s=own(row.group_grace_period_s, base.group_grace_period_s),
    )
