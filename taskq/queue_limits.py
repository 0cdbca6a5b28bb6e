"""Limits of queues and of their limit keys, which consumers in direct mode declare. Over HTTP policies have them.

Redis enforces them in the call that delivers jobs, for all consumers together. All consumers of a queue have to declare
the same: each call is held to the limits of the consumer that makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Any

from queues import engine
from queues.engine import InvalidArgumentError
from queues.engine.names import check_queue
from queues.engine.queue_limits import check_queue_limits

from .errors import NotConfiguredError


@dataclass(frozen=True, kw_only=True)
class QueueLimits:
    """Limits of one queue, as its policy has them (docs/limits.md). 0: no such limit. Raises NotConfiguredError.

    `max_in_flight`: jobs of the queue that are worked on at once. `rate`: jobs per second of the queue, `burst` of
    which may come at once after a pause. `key_in_flight`, `key_rate`, `key_burst`: the same of each limit key.
    `key_weight`: the share of a limit key, unless `key_weights` says another.
    """

    max_in_flight: int = 0
    rate: float = 0.0
    burst: int = 1
    key_in_flight: int = 0
    key_rate: float = 0.0
    key_burst: int = 1
    key_weight: int = 1
    key_weights: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        for name in ("max_in_flight", "burst", "key_in_flight", "key_burst", "key_weight"):
            if not _is_whole(getattr(self, name)):
                raise NotConfiguredError(f"{name} must be a whole number")
        for name in ("rate", "key_rate"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise NotConfiguredError(f"{name} must be a number of jobs per second")
        weights = self.key_weights
        if not isinstance(weights, Mapping) or not all(
            isinstance(key, str) and _is_whole(weight) for key, weight in weights.items()
        ):
            raise NotConfiguredError("key_weights must be a dict of limit keys and whole numbers")
        object.__setattr__(self, "key_weights", MappingProxyType(dict(weights)))
        if self.max_in_flight < 0:
            raise NotConfiguredError("invalid max_in_flight")
        try:
            check_queue_limits(self._limits)
        except InvalidArgumentError as error:
            raise NotConfiguredError(str(error)) from error

    @cached_property
    def _limits(self) -> engine.ConsumeLimits:
        return engine.ConsumeLimits(
            rate=self.rate,
            burst=self.burst,
            key_in_flight=self.key_in_flight,
            key_rate=self.key_rate,
            key_burst=self.key_burst,
            default_weight=self.key_weight,
            weights=tuple(sorted(self.key_weights.items())),
        )

    @property
    def for_consume(self) -> engine.ConsumeLimits | None:
        """The limits that consume takes beside `max_in_flight`; None: there are none."""
        return None if self._limits == engine.NO_LIMITS else self._limits


def read_queue_limits(declared: Mapping[str, QueueLimits | Mapping[str, Any]] | None) -> Mapping[str, QueueLimits]:
    """Limits by queue; dicts, as settings have them, may stand for QueueLimits. Raises NotConfiguredError."""
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        raise NotConfiguredError("queue_limits must be a dict of queues and their QueueLimits")
    return {queue: _read(queue, one) for queue, one in declared.items()}


def _read(queue: Any, one: Any) -> QueueLimits:
    try:
        check_queue(queue)
        if isinstance(one, Mapping):
            return QueueLimits(**one)
    except (InvalidArgumentError, NotConfiguredError, TypeError) as error:
        raise NotConfiguredError(f"queue_limits of {queue!r}: {_without_call(error)}") from error
    if not isinstance(one, QueueLimits):
        raise NotConfiguredError(f"queue_limits of {queue!r} must be QueueLimits, not {one!r}")
    return one


def _without_call(error: Exception) -> str:
    return str(error).removeprefix("QueueLimits.__init__() ")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
