"""Says once that something fails, counts the rest, and says at the end how often and for how long it failed.

For failures that many calls meet at the same time for the same reason, such as a Redis that is away: a line for each
would fill the disk with what the first line says.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

QUIET_S: Final = 5.0
"""An outage is over when nothing failed for so long."""

REPEAT_S: Final = 60.0
"""One that goes on is mentioned again so often."""

KINDS_MAX: Final = 100
"""Outages that are logged separately at one time. Further ones are not logged before one of these is over."""

_LOOK_EVERY_S: Final = 1.0


@dataclass(slots=True)
class _Outage:
    message: str
    fields: Mapping[str, object]
    level: int
    began_at: float
    latest_at: float
    said_at: float
    failures: int = 1


class OutageLog:
    """Safe to use from threads and event loops. Between outages it does nothing; during one a thread looks on."""

    def __init__(self, logger: logging.Logger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Outage] = {}
        self._watcher: threading.Thread | None = None

    def note(
        self,
        message: str,
        fields: Mapping[str, object],
        example: Mapping[str, object] | None = None,
        *,
        level: int = logging.WARNING,
    ) -> None:
        """Something failed. Equal `message` and `fields` make one outage; `example`: about its first failure."""
        now = self._clock()
        kind = (message, *fields.values())
        with self._lock:
            outage = self._open.get(kind)
            if outage is not None:
                outage.failures += 1
                outage.latest_at = now
                return
            if len(self._open) >= KINDS_MAX:
                return
            self._open[kind] = _Outage(message, fields, level, now, now, now)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="taskq-outage-log", daemon=True)
                self._watcher.start()
        self._logger.log(level, message, extra={**fields, **(example or {})})

    def look(self) -> bool:
        """Log what is over, and what goes on for long. Whether any outage goes on."""
        now = self._clock()
        with self._lock:
            over = [kind for kind, outage in self._open.items() if now - outage.latest_at >= QUIET_S]
            ended = [self._open.pop(kind) for kind in over]
            lasting = [outage for outage in self._open.values() if now - outage.said_at >= REPEAT_S]
            for outage in lasting:
                outage.said_at = now
            goes_on = bool(self._open)
            if not goes_on:
                self._watcher = None
        for outage in ended:
            self._say("outage is over", outage)
        for outage in lasting:
            self._say("outage goes on", outage)
        return goes_on

    def flush(self) -> None:
        """Log what has been counted, because the process ends."""
        with self._lock:
            outages, self._open = list(self._open.values()), {}
        for outage in outages:
            self._say("outage goes on as the process ends", outage)

    def _watch(self) -> None:
        while True:
            time.sleep(_LOOK_EVERY_S)
            if not self.look():
                return

    def _say(self, message: str, outage: _Outage) -> None:
        """Log the count. A single failure has been logged already."""
        if outage.failures > 1:
            lasted_s = round(outage.latest_at - outage.began_at, 1)
            counted = {"outage": outage.message, "failures": outage.failures, "lasted_s": lasted_s}
            self._logger.log(outage.level, message, extra={**outage.fields, **counted})
