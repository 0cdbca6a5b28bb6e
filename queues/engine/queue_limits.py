"""Limits of a queue and of the limit keys that share it. They travel to the script with each consume.

`lua/consume_with_limits.lua` enforces them; what each key has had is kept by `lua/lib/fair.lua`, and the
arithmetic of rates is in `lua/lib/rates_and_weights.lua`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from . import constants
from .errors import InvalidArgumentError

_US_PER_S: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeLimits:
    """What consume enforces across all servers. 0: no such limit.

    `rate`: jobs per second of the whole queue, `burst` of which may come at once after a while. `key_in_flight`: jobs
    of one limit key that may be worked on at once. `key_rate`, `key_burst`: as above, of each key. Keys share the queue
    by weight: `default_weight`, or what `weights` says (key, weight). Jobs without a key count as one key more, which
    has the default weight and no limits.
    """

    rate: float = 0.0
    burst: int = 1
    key_in_flight: int = 0
    key_rate: float = 0.0
    key_burst: int = 1
    default_weight: int = 1
    weights: tuple[tuple[str, int], ...] = ()


NO_LIMITS: Final = ConsumeLimits()


@lru_cache(maxsize=1024)
def limits_argument(queue_limits: ConsumeLimits) -> str:
    """The `limits` argument of lua/consume_with_limits.lua. Raises InvalidArgumentError for a limit out of range."""
    if queue_limits == NO_LIMITS:
        return ""
    check_queue_limits(queue_limits)
    numbers = (
        _microseconds(queue_limits.rate),
        queue_limits.burst,
        queue_limits.key_in_flight,
        _microseconds(queue_limits.key_rate),
        queue_limits.key_burst,
        queue_limits.default_weight,
    )
    return " ".join(map(str, numbers)) + "".join(f"\n{key}\t{weight}" for key, weight in queue_limits.weights)


def parse_weights(text: str) -> tuple[tuple[str, int], ...]:
    """`KEY=WEIGHT` on each line, sorted by key. Raises InvalidArgumentError."""
    weights: dict[str, int] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        key, _, number = line.rpartition("=")
        if not (number.isascii() and number.isdigit() and len(number) <= len(str(constants.LIMIT_WEIGHT_MAX))):
            raise InvalidArgumentError(f"invalid weight, expected KEY=WEIGHT: {line[:100]}")
        check_limit_key(key)
        if key in weights:
            raise InvalidArgumentError(f"two weights of {key}")
        weights[key] = int(number)
    queue_limits = ConsumeLimits(weights=tuple(sorted(weights.items())))
    check_queue_limits(queue_limits)
    return queue_limits.weights


def _microseconds(rate: float) -> int:
    """How long one job uses up a rate."""
    return round(_US_PER_S / rate) if rate else 0


def check_queue_limits(queue_limits: ConsumeLimits) -> None:
    """Raise InvalidArgumentError naming the first limit that is out of its range."""
    for name in ("rate", "key_rate"):
        if (rate := getattr(queue_limits, name)) and not constants.LIMIT_RATE_MIN <= rate <= constants.LIMIT_RATE_MAX:
            raise InvalidArgumentError(f"invalid {name}")
    for name in ("burst", "key_burst"):
        if not 1 <= getattr(queue_limits, name) <= constants.LIMIT_BURST_MAX:
            raise InvalidArgumentError(f"invalid {name}")
    if queue_limits.key_in_flight < 0:
        raise InvalidArgumentError("invalid key_in_flight")
    if len(queue_limits.weights) > constants.LIMIT_WEIGHTS_MAX:
        raise InvalidArgumentError(f"too many weights, cannot exceed {constants.LIMIT_WEIGHTS_MAX}")
    for key, weight in (("", queue_limits.default_weight), *queue_limits.weights):
        if key:
            check_limit_key(key)
        if not 1 <= weight <= constants.LIMIT_WEIGHT_MAX:
            raise InvalidArgumentError(f"invalid weight of {key}" if key else "invalid default_weight")


def check_limit_key(key: str) -> None:
    """Raise InvalidArgumentError unless `key` is printable, not empty, and short enough.

    What is printable has no zero byte, line feed or tab, which end a key in Redis (lua/lib/fair.lua).
    """
    if not key or not key.isprintable() or len(key.encode()) > constants.LIMIT_KEY_MAX_BYTES:
        raise InvalidArgumentError("invalid limit_key")
