"""Deletes days from the event lake by age and size, and measures it (`making.lake_retention` of the reports).

Several `runpump` may do it at once: each day is deleted once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import close_old_connections

from .role import CircuitBreaker

if TYPE_CHECKING:
    from queues.lake.measuring import LakeMeter

logger = logging.getLogger(__name__)

INTERVAL_S: Final = 600.0


class LakeUpkeep:
    """`tick` now and then; `stop` in the end: a deletion under way stops after the day that it is at."""

    def __init__(self, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._stopping = threading.Event()
        self._breaker = CircuitBreaker(subject="upkeep of the lake")
        self._kept: Sequence[date] = ()
        self._meter: LakeMeter | None = None

    def tick(self) -> None:
        """A database or lake that is away is logged once."""
        # A pump starts sooner without these.
        from queues.lake.measuring import LakeMeter
        from queues.services.reporting.making.lake_retention import prune_lake

        if self._stopping.is_set():
            return
        try:
            if self._meter is None or self._meter.url != settings.TASKQ_LAKE_URL:
                self._meter = LakeMeter(settings.TASKQ_LAKE_URL)
            today, should_stop = self._clock().date(), self._stopping.is_set
            self._tell_kept(prune_lake(today=today, should_stop=should_stop, meter=self._meter).kept)
            self._breaker.record_success()
        except Exception as error:  # the roles go on; it is tried again
            self._breaker.record_failure(error)
        finally:
            close_old_connections()

    def stop(self) -> None:
        self._stopping.set()

    def _tell_kept(self, kept: Sequence[date]) -> None:
        """Once, until others are kept."""
        if kept and kept != self._kept:
            fields = {"action": "lake.keep", "days": len(kept), "first": str(kept[0]), "last": str(kept[-1])}
            logger.warning("days stay in the lake, for reports still need their events", extra=fields)
        self._kept = kept
