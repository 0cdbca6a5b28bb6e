"""Random columns, the same for the same seed on every machine."""

from __future__ import annotations

import math
import zlib
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TWOS: Final = pa.array([a + b for a in _ALPHABET for b in _ALPHABET])


class Draws:
    """A run of random columns; `name` says which: each name has its own, whatever else is drawn."""

    def __init__(self, name: str) -> None:
        self._seed = zlib.crc32(name.encode())
        self._drawn = 0

    def uniform(self, rows: int) -> Any:
        """float64 in [0, 1)."""
        self._drawn += 1
        return pc.random(rows, initializer=(self._seed << 20) + self._drawn)

    def whole(self, rows: int, below: int) -> Any:
        """int64 in [0, below)."""
        return pc.cast(pc.floor(pc.multiply(self.uniform(rows), real(below))), pa.int64())

    def log_normal(self, rows: int, *, median: float, spread: float) -> Any:
        """int64 around `median`, ≥ 1; `spread`: the standard deviation of the logarithm. By Box and Muller."""
        far = pc.sqrt(pc.multiply(pc.ln(pc.subtract(real(1.0), self.uniform(rows))), real(-2.0)))
        normal = pc.multiply(far, pc.cos(pc.multiply(self.uniform(rows), real(2 * math.pi))))
        drawn = pc.multiply(pc.power(real(math.e), pc.multiply(normal, real(spread))), real(median))
        return pc.cast(pc.floor(pc.max_element_wise(pc.min_element_wise(drawn, real(1e9)), real(1.0))), pa.int64())

    def job_ids(self, published_ms: Any) -> Any:
        """ULIDs with these times."""
        rows = len(published_ms)
        fours = _fours()
        time = [
            _part(fours, published_ms, 30),
            _part(fours, published_ms, 10),
            _part(_TWOS, published_ms, 0),
        ]
        chance = [pc.take(fours, self.whole(rows, len(fours))) for _ in range(4)]
        return pc.binary_join_element_wise(*time, *chance, pa.scalar("", pa.string()))


@cache
def _fours() -> Any:
    """All of a million: made when first needed, not by an import."""
    twos = _TWOS.to_pylist()
    return pa.array([a + b for a in twos for b in twos])


def _part(digits: Any, number: Any, shift: int) -> Any:
    """The base-32 digits of `number` from bit `shift` on, as many as `digits` has of them."""
    return pc.take(digits, pc.bit_wise_and(pc.shift_right(number, whole(shift)), whole(len(digits) - 1)))


# Given a value without a type, pyarrow tries to import dateutil each time; where that is not installed, it looks
# through all of sys.path.
def real(number: float) -> Any:
    """A number for pyarrow to compute with."""
    return pa.scalar(number, pa.float64())


def whole(number: int) -> Any:
    """The same, of int64."""
    return pa.scalar(number, pa.int64())
