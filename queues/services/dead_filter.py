"""Which dead letters are meant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from queues.engine.names import check_namespace, check_queue
from queues.engine.operations.dead_scan import DeadJob

from queues.lake.error_patterns import pattern_of
from .errors import InvalidArgumentError

ERROR_MAX = 1_024
"""Characters of a text that errors are looked through for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """What is left empty lets everything through.

    `error`: text somewhere in the last error, in upper or lower case. `like`: an error's whole pattern
    (`error_patterns`). `day`: when it died, in UTC.
    """

    pool: str = ""
    namespace: str = ""
    queue: str = ""
    error: str = ""
    like: str = ""
    day: date | None = None

    @property
    def reads_errors(self) -> bool:
        """Whether each dead letter must be looked at to tell: their number alone says nothing."""
        return bool(self.error or self.like)

    @property
    def since_ms(self) -> int:
        """The first instant of the day."""
        return 0 if self.day is None else _midnight_ms(self.day)

    @property
    def before_ms(self) -> int | None:
        """The first instant after the day."""
        return None if self.day is None else _midnight_ms(self.day + timedelta(days=1))

    def lets_through(self, job: DeadJob, pattern: str) -> bool:
        """Whether its error is meant. Place and day are looked after by whoever scans."""
        if self.like and pattern != self.like:
            return False
        return not self.error or self.error.lower() in job.error.lower() or self.error.lower() in pattern.lower()


def read_filter(
    *, pool: str = "", namespace: str = "", queue: str = "", error: str = "", like: str = "", day: str = ""
) -> DeadFilter:
    """A filter from what a URL says. Raises InvalidArgumentError."""
    for name in filter(None, (pool, namespace)):
        check_namespace(name)
    if queue:
        check_queue(queue)
    if max(len(error), len(like)) > ERROR_MAX:
        raise InvalidArgumentError("invalid error")
    return DeadFilter(pool=pool, namespace=namespace, queue=queue, error=error.strip(), like=like, day=read_day(day))


def read_day(text: str) -> date | None:
    """`2026-11-21`; None for an empty text. Raises InvalidArgumentError."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InvalidArgumentError("invalid day") from None
    if not 1970 <= day.year <= 9998:
        raise InvalidArgumentError("invalid day")
    return day


def pattern_of_job(job: DeadJob) -> str:
    """The pattern of its last error."""
    return pattern_of(error=job.error, outcome=job.outcome)


def _midnight_ms(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
