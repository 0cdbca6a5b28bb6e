"""Rate limits of tokens: as rows that are set, changed and listed; and what holds for a request.

`queues/engine/operations/token_rate_limit.py` enforces them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from django.db import IntegrityError, transaction

from queues.engine import RequestLimit
from queues.engine import limited as limited_operation
from queues.engine.operation import Operation
from queues.engine.values import RequestKind
from queues.models import TokenLimit

from ..errors import InvalidArgumentError, LimitExistsError, LimitNotFoundError
from .secrets import find_token_row

LIMIT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`read` consumes and `write` publishes per `interval_s` seconds. 0: that kind is not limited (as in lmstfy)."""

    read: int
    write: int
    interval_s: int

    @classmethod
    def of(cls, row: TokenLimit) -> Limit:
        return cls(read=row.read, write=row.write, interval_s=row.interval_s)

    def __str__(self) -> str:
        return f"{self.read} read, {self.write} write per {self.interval_s} s"


def check_limit(limit: Limit) -> None:
    """Raise InvalidArgumentError unless the limit makes sense."""
    for name, number, minimum in (
        ("read", limit.read, 0),
        ("write", limit.write, 0),
        ("interval", limit.interval_s, 1),
    ):
        if not minimum <= number <= LIMIT_MAX:
            raise InvalidArgumentError(f"invalid {name}: expected a number from {minimum} to {LIMIT_MAX}")
    if limit.read == limit.write == 0:
        raise InvalidArgumentError("invalid limit: read and write cannot both be 0 (no limit)")


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitInfo:
    """A limit and whose it is."""

    pool: str
    namespace: str
    public_id: str
    limit: Limit


def set_limit(
    *, pool: str | None = None, namespace: str, public_id_or_secret: str, limit: Limit, only_new: bool = False
) -> None:
    """Give the token this limit. `only_new`: refuse if it has one.

    Raises InvalidArgumentError, TokenNotFoundError, LimitExistsError.
    """
    check_limit(limit)
    token = find_token_row(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    values = {"read": limit.read, "write": limit.write, "interval_s": limit.interval_s}
    if only_new:
        try:
            with transaction.atomic():
                TokenLimit.objects.create(token=token, **values)
        except IntegrityError:
            raise LimitExistsError from None
    else:
        TokenLimit.objects.update_or_create(token=token, defaults=values)
    fields = {"namespace": namespace, "token_id": token.public_id, **values}
    logger.info("limit set", extra={"action": "limit.set", **fields})


def get_limit(*, pool: str | None = None, namespace: str, public_id_or_secret: str) -> Limit:
    """Raises TokenNotFoundError, LimitNotFoundError."""
    token = find_token_row(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    row = TokenLimit.objects.filter(token=token).first()
    if row is None:
        raise LimitNotFoundError
    return Limit.of(row)


def delete_limit(*, pool: str | None = None, namespace: str, public_id_or_secret: str) -> bool:
    """False if it had none. Raises TokenNotFoundError."""
    token = find_token_row(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    deleted, _ = TokenLimit.objects.filter(token=token).delete()
    if deleted:
        fields = {"namespace": namespace, "token_id": token.public_id}
        logger.info("limit deleted", extra={"action": "limit.delete", **fields})
    return deleted > 0


def list_limits(*, pool: str | None = None) -> list[LimitInfo]:
    """Limits of all tokens that work, of one pool or of all."""
    rows = TokenLimit.objects.filter(token__revoked_at=None).select_related("token__namespace__pool")
    if pool is not None:
        rows = rows.filter(token__namespace__pool__name=pool)
    return [
        LimitInfo(
            pool=row.token.namespace.pool.name,
            namespace=row.token.namespace.name,
            public_id=row.token.public_id,
            limit=Limit.of(row),
        )
        for row in rows.order_by("token__namespace__pool__name", "token__namespace__name", "token__public_id")
    ]


T = TypeVar("T")

RateKind: TypeAlias = RequestKind


def limit_of(*, token_id: str, limit: Limit | None, kind: RateKind) -> RequestLimit | None:
    """What holds for requests of this kind; None: they are not limited, and nothing needs to be counted."""
    if limit is None:
        return None
    allowance = limit.read if kind == "read" else limit.write
    if not allowance:
        return None
    return RequestLimit(token_id=token_id, kind=kind, allowance=allowance, interval_ms=limit.interval_s * 1000)


def limited(operation: Operation[T], limit: RequestLimit | None) -> Operation[T]:
    """The operation, and the count of its request in the same call, if there is a limit: not in a Redis Cluster.

    Raises LimitReachedError.
    """
    return operation if limit is None else limited_operation(operation, limit)
