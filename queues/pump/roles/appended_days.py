"""Notes in the lake how many events a pool's Redis has appended on each day that is over (`queues.lake.appended`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from queues.engine import AppendedEvents, Engine, appended_events
from queues.lake.appended import write_appended
from queues.lake.storage import Storage

AFTER_MIDNIGHT_MS: Final = 60_000
"""In a cluster, the clock of one node may be behind that of another."""

KEPT_DAYS: Final = 31
"""How long Redis remembers what has been noted: the lake may be lost, or be another one."""

BEGINNING: Final = date(1970, 1, 1)


class AppendedDays:
    """Notes the days of one pool, each once. Several pumps may: the first file of a day stays."""

    def __init__(self, pool: str, *, url: str) -> None:
        self._pool = pool
        self._url = url
        self._noted_on: date | None = None

    def note(self, engine: Engine, now_ms: int, *, clock_ms: int | None = None) -> int:
        """Note the days that are over, unless that has been done today. → days that were noted. Raises LakeError.

        Times as in `HourlyCounts.go_on`.
        """
        today = _day_of(now_ms - AFTER_MIDNIGHT_MS)
        if today == self._noted_on:
            return 0
        partitions = range(engine.layout.partitions)
        counts = engine.batch([appended_events(number, since=BEGINNING, now_ms=clock_ms) for number in partitions])
        if any(_day_of(one.now_ms - AFTER_MIDNIGHT_MS) < today for one in counts):
            return 0
        noted = sum(
            self._note_day(day, counts) for day in sorted({day for one in counts for day in one.by_day if day < today})
        )
        since = today - timedelta(days=KEPT_DAYS)
        if any(day < since for one in counts for day in one.by_day):
            engine.batch([appended_events(number, since=since, now_ms=clock_ms) for number in partitions])
        self._noted_on = today
        return noted

    def _note_day(self, day: date, counts: Sequence[AppendedEvents]) -> bool:
        return write_appended(Storage(self._url), self._pool, day, [one.by_day.get(day, 0) for one in counts])


def _day_of(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()
