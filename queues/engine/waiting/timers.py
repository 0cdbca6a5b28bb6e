"""Deadlines that event loops may not anticipate.

uvloop's clock counts whole milliseconds, so its timers may end 1 ms early. Deadlines are therefore moments of
`time.monotonic`, and a sleeper that wakes before its deadline sleeps again.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

TIMER_STEP_S: Final = 0.001


def delay_until(deadline: float) -> float:
    """Seconds to give to `call_later` for a deadline in monotonic seconds: one step more than are left, so that a timer
    which ends early is seldom set twice, and never spins."""
    return max(0.0, deadline - monotonic()) + TIMER_STEP_S
