"""Who asks the database on behalf of the memories of this process, and whether it keeps them waiting.

Whoever has an older answer at hand need not wait with them: one that finds out that the database hangs is enough.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from .reading import is_outage_known, is_pausing

PATIENCE_S: Final = 0.25
"""How long callers with an older answer at hand wait for a newer one."""


class Probe:
    """A read under way. `done` is set when it has ended, however it did; `overtaken`: what it reads has changed."""

    __slots__ = ("done", "overtaken", "started_at")

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.done = threading.Event()
        self.overtaken = False

    def wait(self, *, patiently: bool) -> bool:
        """Whether it has ended; unless `patiently`, not waited for beyond PATIENCE_S from its own beginning."""
        if patiently:
            return self.done.wait()
        return self.done.wait(max(0.0, self.started_at + PATIENCE_S - time.monotonic()))


class _Probes:
    """All probes of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Probe] = set()
        self._answered_at = float("-inf")

    def begin(self, *, must: bool) -> Probe | None:
        """A new probe. None, unless one `must` know: the database keeps others waiting already."""
        with self._lock:
            if not must and self._keep_waiting():
                return None
            probe = Probe()
            self._running.add(probe)
            return probe

    def end(self, probe: Probe, *, answered: bool) -> None:
        with self._lock:
            self._running.discard(probe)
            if answered:
                self._answered_at = time.monotonic()
        probe.done.set()

    def keep_waiting(self) -> bool:
        """Whether asking the database now would only mean to wait for it."""
        with self._lock:
            return self._keep_waiting()

    def _keep_waiting(self) -> bool:
        """In an outage one probe at a time is enough.

        Otherwise the database must have been silent for PATIENCE_S altogether: one that is merely slow answers somebody
        now and then, and revocations are felt as long as it does.
        """
        if is_pausing():
            return True
        if not self._running:
            return False
        if is_outage_known():
            return True
        latest = time.monotonic() - PATIENCE_S
        return self._answered_at < latest and any(probe.started_at < latest for probe in self._running)


PROBES: Final = _Probes()
