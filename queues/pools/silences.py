"""Since when a pool has not answered this process; kept by those that ask pools again and again, read by pages."""

from __future__ import annotations

import time
from typing import Final

RECENT_MS: Final = 15_000
"""An answer that is not older tells since when there is none. Open pages ask every 4 s; what was heard before somebody
opened one says nothing of the time between."""

_answered_ms: Final[dict[str, int]] = {}
_silent_ms: Final[dict[str, int]] = {}


def note_answer(pool: str) -> None:
    """The pool has just answered."""
    _answered_ms[pool] = now_ms()
    _silent_ms.pop(pool, None)


def note_silence(pool: str, *, asked_ms: int) -> int:
    """It did not answer what it was asked then. Returns since when: its last answer, or the first question."""
    answered_ms = _answered_ms.get(pool, 0)
    return _silent_ms.setdefault(pool, answered_ms if asked_ms - answered_ms <= RECENT_MS else asked_ms)


def silent_since_ms(pool: str) -> int | None:
    """Since when it does not answer; None: it did when it was last asked."""
    return _silent_ms.get(pool)


def now_ms() -> int:
    """By the clock of this host."""
    return time.time_ns() // 1_000_000
