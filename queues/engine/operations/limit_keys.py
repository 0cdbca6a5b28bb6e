"""Lists which limit keys of a queue wait, and for what. `lua/consume_with_limits.lua` enforces their limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Operation, Reply, clock_argument, expect_ok
from ..queue_limits import NO_LIMITS, ConsumeLimits, check_limit_key, limits_argument
from ..queue_values import KeyWait, LimitKey, LimitKeyPage, LimitKeysFound
from ..scripts import load

_LIST = load("list_limit_keys")
_FIND = load("find_limit_keys")
_FIRST_MAX = 10_000_000
_LISTED_MAX = 250
"""Keys that one call lists at most, whatever `limit` is: it counts the jobs of each."""

_FOUND_MAX = 100
"""A search seeks each key."""


def list_limit_keys(
    queue: QueueKeys,
    *,
    first: int = 0,
    limit: int = 50,
    queue_limits: ConsumeLimits = NO_LIMITS,
    now_ms: int | None = None,
) -> Operation[LimitKeyPage]:
    """A page of the limit keys that have ready jobs, from number `first` on: those at a limit before the others.

    It has at most 250 keys, also if `limit` is larger; `after` says where the next one begins.

    Raises InvalidArgumentError.
    """
    _check_limit(limit, constants.PAGE_MAX)
    if not 0 <= first <= _FIRST_MAX:
        raise InvalidArgumentError("invalid after")

    def decode(reply: Reply) -> LimitKeyPage:
        now, total, throttled, queue_free_ms, *found = expect_ok(_LIST, reply)
        keys = _read_keys(found)
        after = first + len(keys)
        return LimitKeyPage(
            keys=keys,
            total=total,
            throttled=throttled,
            queue_free_ms=queue_free_ms or None,
            now_ms=now,
            after=after if keys and after < total else None,
        )

    args = (clock_argument(now_ms), first, min(limit, _LISTED_MAX), limits_argument(queue_limits))
    return Operation(_LIST, queue.select(_LIST.keys), args, decode)


def find_limit_keys(
    queue: QueueKeys,
    prefix: str,
    *,
    after: str = "",
    limit: int = 50,
    queue_limits: ConsumeLimits = NO_LIMITS,
    now_ms: int | None = None,
) -> Operation[LimitKeysFound]:
    """The limit keys with ready jobs that begin with `prefix`, in order of their bytes, behind `after`.

    Raises InvalidArgumentError.
    """
    _check_limit(limit, _FOUND_MAX)
    for text in filter(None, (prefix, after)):
        check_limit_key(text)

    def decode(reply: Reply) -> LimitKeysFound:
        now, more, queue_free_ms, *found = expect_ok(_FIND, reply)
        keys = _read_keys(found)
        return LimitKeysFound(
            keys=keys, queue_free_ms=queue_free_ms or None, now_ms=now, after=keys[-1].key if more else None
        )

    args = (clock_argument(now_ms), prefix, after, limit, limits_argument(queue_limits))
    return Operation(_FIND, queue.select(_FIND.keys), args, decode)


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidArgumentError("invalid limit")


def _read_keys(found: Iterable[Any]) -> tuple[LimitKey, ...]:
    return tuple(
        LimitKey(
            key=str(key, "utf-8"),
            ready=ready,
            working=working,
            weight=weight,
            waits_for=KeyWait(str(word, "ascii")),
            free_ms=free_ms or None,
        )
        for key, ready, working, weight, word, free_ms in found
    )
