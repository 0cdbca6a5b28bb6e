"""Counting a token's requests against its limit."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from queues.engine import LimitTaken, RequestLimit, give_back_limit, take_limit
from queues.engine import limited as limited_operation
from queues.engine.operation import Operation
from queues.engine.values import RequestKind

from .access import Access

T = TypeVar("T")

RateKind: TypeAlias = RequestKind


def limit_of(*, access: Access, kind: RateKind) -> RequestLimit | None:
    """What holds for requests of this kind; None: they are not limited, and nothing needs to be counted."""
    limit = access.limit
    if limit is None:
        return None
    allowance = limit.read if kind == "read" else limit.write
    if not allowance:
        return None
    return RequestLimit(token_id=access.token_id, kind=kind, allowance=allowance, interval_ms=limit.interval_s * 1000)


def limited(operation: Operation[T], limit: RequestLimit | None) -> Operation[T]:
    """The operation, and the count of its request in the same call, if there is a limit: not in a Redis Cluster.

    Raises LimitReachedError.
    """
    return operation if limit is None else limited_operation(operation, limit)


def take_request(*, limit: RequestLimit) -> Operation[LimitTaken]:
    """Count one request before it is carried out."""
    return take_limit(limit)


def give_back_request(*, taken: LimitTaken) -> Operation[None]:
    """Undo one take_request that was allowed."""
    return give_back_limit(taken)
