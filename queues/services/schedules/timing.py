"""When a schedule is due: cron, interval or once; time zones, daylight saving, jitter.

Times are whole milliseconds since the epoch. A cron expression means the wall clock of its zone. One with a fixed
minute and hour (neither begins with `*`) means a time of day: if the clocks skip it, it is due when they have gone
forward, and if they show it twice, it is due the first time. Any other means elapsed time: each hour that passes is an
hour, and a wall-clock time that does not exist is left out. So does Debian's cron.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from queues.engine.errors import InvalidArgumentError
from queues.models import ScheduleKind

CRON_MAX_CHARS: Final = 200
ZONE_MAX_CHARS: Final = 64
INTERVAL_MIN_MS: Final = 1_000
INTERVAL_MAX_MS: Final = 10 * 366 * 86_400_000
"""Between fires of an interval: from a second to ten years."""

TIME_MAX_MS: Final = 253_402_300_799_000 - 366 * 86_400_000
"""A year before Python's last date."""

NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_FIELDS: Final = (
    ("second", "0-59"),
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day-of-month", "1-31, L, LW"),
    ("month", "1-12, JAN-DEC"),
    ("day-of-week", "0-7, SUN-SAT, 5#2, 5L"),
)
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}\Z")
_MICROSECOND: Final = timedelta(microseconds=1)


class CronFieldError(InvalidArgumentError):
    """A field of a cron expression cannot be read. `field`: its English name; `allowed`: what may be in it."""

    def __init__(self, field: str, text: str, allowed: str) -> None:
        super().__init__(f"invalid cron: {field} {_shown(text)} cannot be read ({allowed})")
        self.field = field
        self.text = _shown(text)
        self.allowed = allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a schedule is due. `cron`: checked by `check_cron`. An interval is due at `anchor_ms` plus multiples of it.

    `jitter_ms`: each fire is this much later than due at most; how much, `salt` and the due time decide, so that every
    process computes the same.
    """

    kind: ScheduleKind
    cron: str = ""
    zone: str = "UTC"
    interval_ms: int = 0
    anchor_ms: int = 0
    at_ms: int = 0
    jitter_ms: int = 0
    salt: str = ""

    def next_after(self, after_ms: int) -> int | None:
        """The first due time later than `after_ms`; None if there is none."""
        if after_ms >= TIME_MAX_MS:
            return None
        if self.kind is ScheduleKind.ONCE:
            return self.at_ms if self.at_ms > after_ms else None
        if self.kind is ScheduleKind.INTERVAL:
            passed = max(0, (after_ms - self.anchor_ms) // self.interval_ms + 1)
            return self.anchor_ms + passed * self.interval_ms
        return next(_cron_times(self.cron, self.zone, after_ms), None)

    def following(self, after_ms: int, count: int) -> list[int]:
        """The next `count` due times later than `after_ms`; fewer if there are no more."""
        if self.kind is ScheduleKind.CRON:
            times = _cron_times(self.cron, self.zone, after_ms)
            return [due for _, due in zip(range(count), times, strict=False)]
        found: list[int] = []
        while len(found) < count and (due := self.next_after(after_ms)) is not None:
            found.append(due)
            after_ms = due
        return found

    def latest(self, low_ms: int, high_ms: int) -> int | None:
        """The last due time within `low_ms`..`high_ms`, both included; None if there is none."""
        if self.kind is ScheduleKind.INTERVAL:
            passed = (high_ms - self.anchor_ms) // self.interval_ms
            due = self.anchor_ms + passed * self.interval_ms
            return due if passed >= 0 and due >= low_ms else None
        if not self._is_due_within(low_ms - 1, high_ms):
            return None
        # Looks back ever farther for a time after which it was due, and then halves the step that led over it.
        back = 1_000
        while not self._is_due_within(high_ms - back, high_ms):
            back *= 2
        before, after = high_ms - back, high_ms  # due in (before, high]; not due in (after, high]
        while after - before > 1_000:
            middle = (before + after) // 2
            if self._is_due_within(middle, high_ms):
                before = middle
            else:
                after = middle
        return self.next_after(before)

    def newest(self, low_ms: int, high_ms: int, count: int) -> list[int]:
        """The last `count` due times within `low_ms`..`high_ms`, in order."""
        found: list[int] = []
        while len(found) < count and (due := self.latest(low_ms, high_ms)) is not None:
            found.append(due)
            high_ms = due - 1
        return found[::-1]

    def count_within(self, low_ms: int, high_ms: int, *, most: int) -> int:
        """How many due times lie within `low_ms`..`high_ms`, both included; at most `most`."""
        if self.kind is ScheduleKind.INTERVAL:
            first = self.next_after(low_ms - 1)
            return 0 if first is None or first > high_ms else min(most, (high_ms - first) // self.interval_ms + 1)
        return sum(due <= high_ms for due in self.following(low_ms - 1, most))

    def jitter(self, due_ms: int) -> int:
        """By how many ms the fire of a due time is delayed: 0..jitter_ms."""
        if not self.jitter_ms:
            return 0
        digest = hashlib.sha256(f"{self.salt}:{due_ms}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % (self.jitter_ms + 1)

    def fire_at(self, due_ms: int) -> int:
        """When it is fired."""
        return due_ms + self.jitter(due_ms)

    def shortest_gap_ms(self, after_ms: int) -> int | None:
        """The shortest time between the next due times; None for one that is due once."""
        if self.kind is ScheduleKind.INTERVAL:
            return self.interval_ms
        times = self.following(after_ms, 50)
        return min((later - earlier for earlier, later in pairwise(times)), default=None)

    def _is_due_within(self, after_ms: int, high_ms: int) -> bool:
        due = self.next_after(after_ms)
        return due is not None and due <= high_ms


def check_cron(text: str) -> str:
    """The expression without needless blanks. Raises InvalidArgumentError, which names the field that is wrong."""
    if len(text) > CRON_MAX_CHARS:
        raise InvalidArgumentError(f"invalid cron: longer than {CRON_MAX_CHARS} characters")
    if text.strip().startswith("@"):
        nickname = text.strip().lower()
        if nickname not in NICKNAMES:
            raise InvalidArgumentError(f"invalid cron: unknown {_shown(nickname)}; there are {', '.join(NICKNAMES)}")
        return nickname
    fields = text.split()
    if len(fields) not in (5, 6):
        raise InvalidArgumentError(f"invalid cron: 5 fields, or 6 with seconds first, not {len(fields)}")
    _check_fields(fields)
    expression = " ".join(fields)
    try:
        due = next(_cron_times(expression, "UTC", 946_684_800_000), None)
    except CronSimError:  # cronsim has an error of its own for days that the months do not have
        due = None
    if due is None:
        raise InvalidArgumentError("invalid cron: it is never due: the day-of-month is in none of the months")
    return expression


def check_zone(name: str) -> str:
    """The zone's name. Raises InvalidArgumentError unless it is one of the IANA database."""
    if len(name) <= ZONE_MAX_CHARS and _ZONE.match(name):
        with suppress(OSError, ValueError, KeyError):  # a folder; a file that is no zone; nothing of that name
            ZoneInfo(name)
            return name
    raise InvalidArgumentError(f"invalid zone: there is no time zone {_shown(name)}, such as Europe/Berlin or UTC")


def _check_fields(fields: list[str]) -> None:
    """Each field alone, so that an error can say which one and what may be in it."""
    first = 6 - len(fields)
    for place, text in enumerate(fields, start=first):
        alone = ["0", "*", "*", "*", "*", "*"]
        alone[place] = text
        try:
            CronSim(" ".join(alone), datetime(2000, 1, 1, tzinfo=UTC))
        except (CronSimError, AssertionError, ValueError):
            name, allowed = _FIELDS[place]
            raise CronFieldError(name, text, allowed) from None


def _shown(text: str) -> str:
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return f'"{printable[:40]}"'


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def _cron_times(expression: str, zone_name: str, after_ms: int) -> Iterator[int]:
    """Due times later than `after_ms`, in order, each once."""
    expression, zone = NICKNAMES.get(expression, expression), _zone(zone_name)
    after = datetime.fromtimestamp(after_ms // 1000, UTC).astimezone(zone)
    fields = expression.split()
    is_time_of_day = not fields[-5].startswith("*") and not fields[-4].startswith("*")
    last = after_ms
    if is_time_of_day and zone is not UTC:
        # Begins an hour before: in that hour the clocks may have been put back, and the wall clock is behind itself.
        for wall in CronSim(expression, after.replace(tzinfo=None) - timedelta(hours=3)):
            due = _milliseconds(_existing(wall, zone))
            if due > last:
                last = due
                yield due
    else:
        for moment in CronSim(expression, after):
            due = _milliseconds(moment)
            if due > last:
                last = due
                yield due


def _existing(wall: datetime, zone: tzinfo) -> datetime:
    """The moment at which clocks of the zone show `wall` first; if they skip it, when they have gone forward."""
    moment = wall.replace(tzinfo=zone, fold=0)
    back = moment.astimezone(UTC).astimezone(zone)
    if back.replace(tzinfo=None) == wall:
        return moment
    # In a gap, fold=0 reckons with the offset before it and fold=1 with that after it; the gap ends in between.
    later, earlier = moment.astimezone(UTC), wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while later - earlier > _MICROSECOND:
        middle = earlier + (later - earlier) / 2
        if middle.astimezone(zone).utcoffset() == back.utcoffset():
            later = middle
        else:
            earlier = middle
    return later


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
