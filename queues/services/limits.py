"""The rate limit of a token as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from queues.models import TokenLimit

from .errors import InvalidArgumentError

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
