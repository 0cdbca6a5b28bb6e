"""Counting a token's requests against its limit."""

from __future__ import annotations

from typing import Literal

from queues.engine import LimitTaken, give_back_limit, take_limit
from queues.engine.operation import Operation

from .access import Access
from .limits import Limit

RateKind = Literal["read", "write"]
"""A consume, or a publish."""


def take_request(*, access: Access, limit: Limit, kind: RateKind) -> Operation[LimitTaken]:
    """Count one request of this kind; for a kind that is limited."""
    allowance = limit.read if kind == "read" else limit.write
    return take_limit(access.token_id, kind, allowance=allowance, interval_ms=limit.interval_s * 1000)


def give_back_request(*, taken: LimitTaken) -> Operation[None]:
    """Undo one take_request that was allowed."""
    return give_back_limit(taken)
