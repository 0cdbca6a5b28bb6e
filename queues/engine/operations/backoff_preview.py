"""What a backoff policy amounts to: how long a job waits after each failed attempt.

`lua/preview_backoff.lua` computes it, with the formula of `lua/lib/backoff.lua` that `fail.lua` uses.
"""

from __future__ import annotations

from typing import Final

from ..backoff import Backoff
from ..errors import InvalidArgumentError
from ..keys import pumps_key
from ..operation import Operation, Reply, expect_ok
from ..scripts import load

PREVIEW_MAX: Final = 100
"""Attempts of one preview."""

_PREVIEW = load("preview_backoff")


def preview_backoff(backoff: Backoff, *, attempts: int) -> Operation[tuple[tuple[int, int], ...]]:
    """The shortest and longest wait in ms after each of the first `attempts`, computed by what `fail` uses."""
    if not 1 <= attempts <= PREVIEW_MAX:
        raise InvalidArgumentError("invalid number of attempts")

    def decode(reply: Reply) -> tuple[tuple[int, int], ...]:
        numbers = [int(number) for number in expect_ok(_PREVIEW, reply)]
        return tuple(zip(numbers[::2], numbers[1::2], strict=True))

    args = (int(backoff.kind), backoff.base_ms, backoff.cap_ms, attempts)
    return Operation(_PREVIEW, (pumps_key(),), args, decode)
