"""Remembers whether something works, so that a fault is logged once and tried again ever more slowly."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

RETRY_FIRST_S: Final = 0.25
RETRY_MAX_S: Final = 5.0


class CircuitBreaker:
    """Whether calls are tried: of a pool, or of a role on a pool. Safe to use from many threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, **fields: str) -> None:
        self._clock = clock
        self._fields = fields
        self._lock = threading.Lock()
        self._since: float | None = None
        self._over_at = -math.inf
        self._pause_s = 0.0
        self._again_at = 0.0

    @property
    def is_open(self) -> bool:
        return self._since is not None

    def may_try(self) -> bool:
        """Whether to try now. While the breaker is open, one caller per pause may."""
        with self._lock:
            if self._since is None:
                return True
            if self._clock() < self._again_at:
                return False
            self._again_at = self._clock() + self._pause_s
            return True

    def now(self) -> float:
        """The time by this object's clock, for `began_at`, in seconds."""
        return self._clock()

    def record_failure(self, error: Exception, *, began_at: float = math.inf, unexpected: bool = False) -> None:
        """Note a failure; log it if it is the first. `unexpected`: a defect, so log where it happened.

        What began before the breaker closed says nothing about the time after it.
        """
        with self._lock:
            if began_at < self._over_at:
                return
            first = self._since is None
            if self._since is None:
                self._since = self._clock()
                self._pause_s = RETRY_FIRST_S
            else:
                self._pause_s = min(RETRY_MAX_S, self._pause_s * 2)
            self._again_at = self._clock() + self._pause_s
        if first:
            logger.log(
                logging.ERROR if unexpected else logging.WARNING,
                "background work fails; it is tried again until it works",
                extra=self._fields | {"action": "trouble", "error": str(error), "error_type": type(error).__name__},
                exc_info=error if unexpected else None,
            )

    def record_success(self, *, began_at: float = math.inf) -> None:
        """Note a success; log it if the breaker was open.

        What began before the breaker opened does not close it: its reply may have come before the server died.
        """
        if self._since is None:
            return
        with self._lock:
            since = self._since
            if since is None or began_at < since:
                return
            self._since, self._over_at = None, self._clock()
        lasted_s = round(self._over_at - since, 1)
        logger.info("background work goes on", extra=self._fields | {"action": "recovered", "lasted_s": lasted_s})
