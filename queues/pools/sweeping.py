"""When to look whether pools were deleted whose engines are still open. Nobody asks for these any more."""

from __future__ import annotations

import time
from typing import Final

SWEEP_EVERY_S: Final = 60.0


class SweepClock:
    """Says every SWEEP_EVERY_S that it is time. Two threads at once may both be told: a sweep harms nobody."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + SWEEP_EVERY_S

    def is_due(self) -> bool:
        """Whether it is time; if so, the next time is set."""
        now = time.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + SWEEP_EVERY_S
        return True
