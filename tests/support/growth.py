"""Whether some work takes linear time, on machines whose speed nobody knows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

RUNS: Final = 2
ROUNDS: Final = 4
CHEAP_S: Final = 250e-9
"""What takes less for each unit of some thousands does not go through all of them for each of them."""

UNMEASURABLE_S: Final = 0.0002
"""What takes less at the greater size is within what a clock and a busy machine can tell apart."""


def grows_linearly(work: Callable[[int], object], size: int, *, clock: Callable[[], float] = time.thread_time) -> bool:
    """Whether `work` of twice the size takes at most three times as long; what takes quadratic time takes four times.

    The best of some runs counts, and what looks slow is measured again: others use the machine, too. `clock`: of the
    processor time of whatever does the work; by default of this thread.
    """
    if _once_s(work, 2 * size, clock) < 2 * size * CHEAP_S:
        return True
    for _ in range(ROUNDS):
        small, large = (min(_once_s(work, length, clock) for _ in range(RUNS)) for length in (size, 2 * size))
        if large < max(3 * small, UNMEASURABLE_S):
            return True
    return False


def _once_s(work: Callable[[int], object], size: int, clock: Callable[[], float]) -> float:
    began = clock()
    work(size)
    return clock() - began
