"""A token's limit: so many requests per interval, counted in Redis, so that it holds across processes and hosts.

Where one server holds all keys, a request is counted by the call that carries it out (`limited`): it is refused by
lua/token_limit/refuse_or_cut.lua and counted by lua/token_limit/count.lua. In a Redis Cluster the count and the queue
are in different slots, which no call may join: there a request is counted before it (`take_token_limit`), and uncounted
if it came to nothing (`give_back_token_limit`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ..errors import LimitReachedError
from ..keys import limit_key
from ..operation import Argument, MergeKey, Operation, Relay, Reply, expect_ok, tag_of, unexpected
from ..scripts import Script, load, load_limited, without_limit
from ..values import LimitTaken, RequestLimit

T = TypeVar("T")

_OWN_ARGS: Final = 3
"""Arguments of a limited form before the script's."""
_TAKE = load("take_token_limit")
_GIVE_BACK = load("give_back_token_limit")


def limited(
    operation: Operation[T], limit: RequestLimit, note: Callable[[T, LimitTaken], T] | None = None
) -> Operation[T]:
    """The operation, and the count of its request in the same call; its script must list COUNTS.

    Raises LimitReachedError, with nothing done. What comes to nothing or fails does not count. `note` puts into the
    result where it was counted, so that it can be given back.
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

    merge_key: MergeKey | None = operation.merge_key and (_limited_together, (operation.merge_key, limit))
    form = _form(operation, key, limit, 1)
    relay = operation.relay and _limited_relay(operation.relay)
    return Operation(*form, decode, merge_key, operation.undo, operation.alone, operation.replicated, relay)


def _limited_relay(relay: Relay) -> Relay:
    def is_needed(reply: Reply) -> bool:
        return relay.is_needed(reply[2] if reply[0] == b"counted" else reply)

    return relay._replace(is_needed=is_needed)


def _form(
    operation: Operation[Any], key: bytes, limit: RequestLimit, requests: int
) -> tuple[Script, tuple[bytes, ...], tuple[Argument, ...]]:
    """Script, keys and arguments."""
    args = (limit.allowance, limit.interval_ms, requests, *operation.args)
    return load_limited(operation.script.name), (key, *operation.keys), args


def _limited_together(parts: Sequence[Operation[Any]]) -> Operation[list[Reply]]:
    """Requests of one token, each for one job, in one call; exactly as if they had come one after the other."""
    first = parts[0]
    assert first.merge_key is not None
    (combine, _), limit = first.merge_key[1]
    script = without_limit(first.script)
    plain: Operation[list[Reply]] = combine(
        [Operation(script, part.keys[1:], part.args[_OWN_ARGS:], part.decode) for part in parts]
    )

    def decode(reply: Reply) -> list[Reply]:
        tag = tag_of(reply)
        if tag == "limited":
            return [reply] * len(parts)
        if tag != "counted":
            return plain.decode(reply)
        _, ticket, all_of_them, number, retry_after_ms = reply
        replies = plain.decode(all_of_them)
        served = [(b"counted", ticket, one) for one in replies[:number]]
        if retry_after_ms:
            return [*served, *[(b"limited", retry_after_ms)] * (len(parts) - number)]
        return [*served, *replies[number:]]

    return Operation(*_form(plain, first.keys[0], limit, len(parts)), decode)


def take_token_limit(limit: RequestLimit) -> Operation[LimitTaken]:
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


def give_back_token_limit(taken: LimitTaken) -> Operation[None]:
    """Uncount a request that was counted and came to nothing. Later intervals gain nothing by it."""

    def decode(reply: Reply) -> None:
        expect_ok(_GIVE_BACK, reply)

    return Operation(_GIVE_BACK, (taken.key,), (taken.ticket,), decode)


def _key_of(limit: RequestLimit) -> bytes:
    return limit_key(limit.token_id, limit.kind, limit.allowance, limit.interval_ms)


def _taken(key: bytes, reply: Reply) -> LimitTaken:
    return LimitTaken(allowed=True, key=key, ticket=str(reply[1], "ascii"))
