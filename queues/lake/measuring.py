"""How much the lake holds, in all and by day."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from .deletion import DAILY, deleted_days
from .names import day_of
from .storage import Storage

SETTLED_DAYS: Final = 3
"""Days that ended longer ago are rarely changed any more, by late events, compaction or hand."""

AGAIN_AFTER: Final = 144
"""Measurements, of which a pump makes one each ten minutes, after which a settled day is looked at again."""


@dataclass(frozen=True, slots=True)
class Size:
    """Files and their bytes."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.files + other.files, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSize:
    """`days`: of each day's events; `total`: of all that is in the lake."""

    days: dict[date, Size]
    total: Size


def measure_lake(url: str) -> LakeSize:
    """How much the lake holds. It lists every file. Raises LakeError."""
    return LakeMeter(url).measure(today=date.min)


class LakeMeter:
    """Measures again and again, without listing the files of all days each time.

    A day that is settled is listed when it is first seen, and then once in AGAIN_AFTER measurements, different days in
    different ones. So what changes in such a day is found within a day; that it is gone is found at once.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._known: dict[str, Size] = {}
        self._measured = 0

    def measure(self, *, today: date) -> LakeSize:
        """Raises LakeError."""
        storage = Storage(self.url)
        deleted = deleted_days(storage)
        days: dict[date, Size] = {}
        total = Size()
        folders = dict(_folders(storage))
        self._known = {path: size for path, size in self._known.items() if path in folders}
        for number, (path, measure) in enumerate(sorted(folders.items(), key=lambda one: one[0])):
            day = day_of(path.rpartition("/")[2])
            is_settled = day is not None and day.toordinal() < today.toordinal() - SETTLED_DAYS
            if not is_settled or path not in self._known or (self._measured + number) % AGAIN_AFTER == 0:
                self._known[path] = measure()
            total += self._known[path]
            if day is not None and day not in deleted and "/" not in path:
                days[day] = self._known[path]
        self._measured += 1
        return LakeSize(days=dict(sorted(days.items())), total=total)


def _folders(storage: Storage) -> Iterator[tuple[str, Callable[[], Size]]]:
    """Folders and files that together are the whole lake, each once: a folder for each day, and what is beside them."""
    for entry in storage.list(""):
        if not entry.is_dir:
            yield entry.name, lambda size=entry.size: Size(1, size)  # type: ignore[misc]
        elif entry.name in DAILY:
            for inner in storage.list(entry.name):
                yield f"{entry.name}/{inner.name}", lambda path=f"{entry.name}/{inner.name}": _size_of(storage, path)  # type: ignore[misc]
        else:
            yield entry.name, lambda path=entry.name: _size_of(storage, path)  # type: ignore[misc]


def _size_of(storage: Storage, path: str) -> Size:
    size = Size()
    for _, held in storage.walk(path):
        size += Size(1, held)
    return size
