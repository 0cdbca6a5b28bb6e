"""A token's limit: so many requests per interval, counted in Redis, so that it holds across processes and hosts."""

from __future__ import annotations

from typing import Literal

from ..keys import limit_key
from ..operation import Operation, Reply
from ..scripts import load
from ..values import LimitTaken
from .reply import expect_ok, tag_of, unexpected

_TAKE = load("take_limit")
_GIVE_BACK = load("give_back_limit")

Kind = Literal["read", "write"]


def take_limit(token_id: str, kind: Kind, *, allowance: int, interval_ms: int) -> Operation[LimitTaken]:
    """Count one request. The interval begins with its first request, by Redis's clock."""

    def decode(reply: Reply) -> LimitTaken:
        tag = tag_of(reply)
        if tag == "taken":
            return LimitTaken(allowed=True, key=key, ticket=str(reply[1], "ascii"))
        if tag == "refused":
            return LimitTaken(allowed=False, retry_after_ms=max(1, reply[1]))
        raise unexpected(_TAKE, reply)

    key = limit_key(token_id, kind, allowance, interval_ms)
    return Operation(_TAKE, (key,), (allowance, interval_ms), decode)


def give_back_limit(taken: LimitTaken) -> Operation[None]:
    """Undo one `take_limit` that was allowed, for a request that got no job or failed. Later intervals gain nothing."""

    def decode(reply: Reply) -> None:
        expect_ok(_GIVE_BACK, reply)

    return Operation(_GIVE_BACK, (taken.key,), (taken.ticket,), decode)
