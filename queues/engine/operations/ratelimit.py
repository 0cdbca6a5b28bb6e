"""A token's limit: so many requests per interval, counted in Redis, so that it holds across processes and hosts.

Where one server holds all keys, a request is counted by the call that carries it out (`limited`). In a Redis Cluster
the count and the queue are in different slots, which no call may join: there a request is counted before it
(`take_limit`), and uncounted if it came to nothing (`give_back_limit`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import LimitReachedError
from ..keys import limit_key
from ..operation import Operation, Reply
from ..scripts import load, load_limited
from ..values import LimitTaken, RequestLimit
from .reply import expect_ok, tag_of, unexpected

T = TypeVar("T")

_TAKE = load("take_limit")
_GIVE_BACK = load("give_back_limit")


def limited(
    operation: Operation[T], limit: RequestLimit, note: Callable[[T, LimitTaken], T] | None = None
) -> Operation[T]:
    """The operation, and the count of its request in the same call; its script must list COUNTS.

    Raises LimitReachedError, with nothing done. What comes to nothing or fails does not count. `note` puts into the
    result where it was counted, so that it can be given back. Shares no call with others (`merging`), for of several
    requests each may or may not fit.
    """
    key = _key_of(limit)

    def decode(reply: Reply) -> T:
        tag = tag_of(reply)
        if tag == "limited":
            raise LimitReachedError(limit.kind, max(1, reply[1]))
        if tag != "counted":
            return operation.decode(reply)
        result = operation.decode(reply[2])
        return note(result, _taken(key, reply)) if note else result

    script = load_limited(operation.script.name)
    args = (limit.allowance, limit.interval_ms, *operation.args)
    return Operation(script, (key, *operation.keys), args, decode, None, operation.undo)


def take_limit(limit: RequestLimit) -> Operation[LimitTaken]:
    """Count one request. The interval begins with its first request, by Redis's clock."""

    def decode(reply: Reply) -> LimitTaken:
        tag = tag_of(reply)
        if tag == "taken":
            return _taken(key, reply)
        if tag == "refused":
            return LimitTaken(allowed=False, retry_after_ms=max(1, reply[1]))
        raise unexpected(_TAKE, reply)

    key = _key_of(limit)
    return Operation(_TAKE, (key,), (limit.allowance, limit.interval_ms), decode)


def give_back_limit(taken: LimitTaken) -> Operation[None]:
    """Uncount a request that was counted and came to nothing. Later intervals gain nothing by it."""

    def decode(reply: Reply) -> None:
        expect_ok(_GIVE_BACK, reply)

    return Operation(_GIVE_BACK, (taken.key,), (taken.ticket,), decode)


def _key_of(limit: RequestLimit) -> bytes:
    return limit_key(limit.token_id, limit.kind, limit.allowance, limit.interval_ms)


def _taken(key: bytes, reply: Reply) -> LimitTaken:
    return LimitTaken(allowed=True, key=key, ticket=str(reply[1], "ascii"))
