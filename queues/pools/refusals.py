"""Remembers for a moment that a pool could not be opened, so that callers do not wait out one timeout each."""

from __future__ import annotations

import time
from copy import copy
from typing import Final

from queues.engine.errors import TaskqError

from .rows import PoolRow

PAUSE_S: Final = 0.5


class Refusals:
    """Why rows could not be opened lately."""

    def __init__(self) -> None:
        self._by_row: dict[PoolRow, tuple[float, TaskqError]] = {}

    def note(self, row: PoolRow, error: TaskqError) -> None:
        """`row` could not be opened just now."""
        self._by_row[row] = (time.monotonic(), error)

    def raise_recent(self, row: PoolRow) -> None:
        """Raise the same error again if it is less than PAUSE_S old."""
        at, error = self._by_row.get(row, (0.0, None))
        if error is None:
            return
        if time.monotonic() - at < PAUSE_S:
            raise copy(error) from error
        self._by_row.pop(row, None)
