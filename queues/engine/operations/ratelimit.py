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
            return LimitTaken(allowed=True)
        if tag == "refused":
            return LimitTaken(allowed=False, retry_after_ms=max(1, reply[1]))
        raise unexpected(_TAKE, reply)

    return Operation(_TAKE, (limit_key(token_id, kind),), (allowance, interval_ms), decode)


def give_back_limit(token_id: str, kind: Kind) -> Operation[None]:
    """Undo one `take_limit`, for a request that got no job or failed."""

    def decode(reply: Reply) -> None:
        expect_ok(_GIVE_BACK, reply)

    return Operation(_GIVE_BACK, (limit_key(token_id, kind),), (), decode)
