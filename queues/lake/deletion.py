"""Deletes whole days, so that a reader has all of a day or nothing.

    LAKE/_deleted/date=2026-11-21.json           the marker: the day is deleted, since when and why
    LAKE/_deleted/date=2026-11-21-late-NAME.json  events of it that came later, and were left out

The atomic step is the marker: from then on the day does not count, whatever is still there. On a local disk its
directory is then renamed, so that readers that know no markers, too, find all of it or nothing. The rest of it, and
what a crash leaves, is removed at leisure. Markers stay: without one, late events would make a day of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from .names import DELETED, GAPS, day_dir, day_of, parse_gap, temporary_name
from .storage import Storage

_SUFFIX: Final = ".json"
_LATE: Final = "-late-"
DAILY: Final = ("_counts", "_appended")
"""Directories that have one of each day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """That a day was deleted. `reason`: a few words; `at`: ISO 8601, UTC; `files` and `bytes` of its events."""

    day: date
    reason: str
    at: str
    files: int
    bytes: int

    def __str__(self) -> str:
        return (
            f"the lake no longer has {self.day}: it was deleted on {self.at[:16].replace('T', ' ')} UTC ({self.reason})"
        )


def delete_day(
    url: str, day: date, *, reason: str, files: int, size: int, now: datetime | None = None
) -> Deletion | None:
    """Delete a day: its events, counts and gaps. None: it had been deleted before. Repeatable. Raises LakeError."""
    storage = Storage(url)
    at = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    deletion = Deletion(day=day, reason=reason, at=at, files=files, bytes=size)
    content = json.dumps(asdict(deletion) | {"day": day.isoformat()}).encode()
    is_new = storage.put(f"{DELETED}/{day_dir(day)}{_SUFFIX}", content)
    remove_deleted(url, days=frozenset({day}))
    return deletion if is_new else None


def deleted_days(storage: Storage) -> frozenset[date]:
    """Raises LakeError."""
    stems = (entry.name.removesuffix(_SUFFIX) for entry in storage.list(DELETED) if entry.name.endswith(_SUFFIX))
    return frozenset(day for day in map(day_of, stems) if day is not None)


def find_deletion(storage: Storage, day: date) -> Deletion | None:
    """None: the day was not deleted. Raises LakeError."""
    try:
        content = storage.read(f"{DELETED}/{day_dir(day)}{_SUFFIX}")
    except FileNotFoundError:
        return None
    try:
        found: dict[str, Any] = json.loads(content)
        return Deletion(**found | {"day": day})
    except (ValueError, TypeError):
        return Deletion(day=day, reason="its note is damaged", at="at an unknown time", files=0, bytes=0)


def note_late_events(storage: Storage, day: date, name: str, events: int) -> None:
    """Note that events came for a day after it was deleted, and were left out. Repeatable. Raises LakeError."""
    path = f"{DELETED}/{day_dir(day)}{_LATE}{name}{_SUFFIX}"
    storage.put(path, json.dumps({"day": day.isoformat(), "events": events}).encode())


def remove_deleted(url: str, *, days: frozenset[date] | None = None) -> list[date]:
    """Remove what is left of deleted days (`days`: of these only). → days of which there was something. Raises
    LakeError."""
    storage = Storage(url)
    deleted = deleted_days(storage)
    wanted = deleted if days is None else days & deleted
    found: set[date] = set()
    for folder in ("", *DAILY):
        for entry in storage.list(folder) if wanted else ():
            day = day_of(entry.name)
            if day in wanted and day is not None:
                _remove_folder(storage, f"{folder}/{entry.name}" if folder else entry.name)
                found.add(day)
    for entry in storage.list(DELETED):
        if entry.is_dir:  # renamed, and its process died
            storage.delete_tree(f"{DELETED}/{entry.name}")
    for name, touched in _gaps(storage) if wanted else ():
        if touched <= deleted:
            storage.delete(f"{GAPS}/{name}")
    return sorted(found)


def _remove_folder(storage: Storage, folder: str) -> None:
    if storage.is_local:
        aside = f"{DELETED}/{temporary_name(folder.replace('/', '-'))}"
        storage.make_dir(DELETED)
        if not storage.rename_dir(folder, aside):
            return  # another process was faster
        folder = aside
    storage.delete_tree(folder)


def _gaps(storage: Storage) -> Iterator[tuple[str, frozenset[date]]]:
    """Names of gaps, and the days that each touches, as `files.read_day` has it."""
    for entry in storage.list(GAPS):
        if (span := parse_gap(entry.name)) is not None:
            from_ms, until_ms = span
            first, last = _day(until_ms if from_ms is None else from_ms), _day(until_ms)
            yield entry.name, frozenset(first + timedelta(days=number) for number in range((last - first).days + 1))


def _day(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()
