"""Remembers for a moment what a check found, so that asking often costs no more than asking once a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

KEPT_S: Final = 1.0


class _Checks:
    """Those of one event loop."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, str]] = {}
        self.under_way: dict[str, asyncio.Future[str]] = {}


class RecentChecks:
    """Results of checks by name, kept for KEPT_S: what is wrong, or "". Concurrent callers share one check."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Checks] = WeakKeyDictionary()

    async def ask(self, name: str, check: Callable[[], Awaitable[str]], *, patience_s: float | None = None) -> str:
        """What `check` found lately, or finds now, whatever becomes of the caller. Raises what `check` raises.

        If that takes longer than `patience_s`, what it found before, if it ever did.
        """
        checks = self._by_loop.setdefault(asyncio.get_running_loop(), _Checks())
        before = checks.found.get(name)
        if before is not None and self._clock() - before[0] < KEPT_S:
            return before[1]
        under_way = checks.under_way.get(name)
        if under_way is None:
            under_way = checks.under_way[name] = asyncio.ensure_future(self._check(name, check, checks))
            under_way.add_done_callback(_note_error)
        if before is not None and patience_s is not None:
            done, _ = await asyncio.wait([under_way], timeout=patience_s)
            if not done:
                return before[1]
        return await asyncio.shield(under_way)

    async def _check(self, name: str, check: Callable[[], Awaitable[str]], checks: _Checks) -> str:
        try:
            answer = await check()
            checks.found[name] = (self._clock(), answer)
            return answer
        finally:
            del checks.under_way[name]


def _note_error(under_way: asyncio.Future[str]) -> None:
    """Everybody who asked may have gone, and an error that nobody looks at would be logged."""
    if not under_way.cancelled():
        under_way.exception()
