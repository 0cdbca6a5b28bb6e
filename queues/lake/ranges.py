"""Which entries of a stream are in which files: what a drain writes is named by the first and the last of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from operator import attrgetter

from .names import DrainedName, EntryId, Stream


class Ranges:
    """Entries of one stream, to be asked about many others without a look at each."""

    def __init__(self, ranges: Iterable[DrainedName]) -> None:
        ordered = sorted(ranges, key=attrgetter("first"))
        self._firsts = [range_.first for range_ in ordered]
        self._lasts = [*accumulate((range_.last for range_ in ordered), max)]
        """The greatest so far."""

    def overlap(self, range_: DrainedName) -> bool:
        """Whether an entry may be within that one and one of these."""
        number = bisect_right(self._firsts, range_.last)
        return number > 0 and self._lasts[number - 1] >= range_.first


def within_others(ranges: Iterable[DrainedName]) -> set[DrainedName]:
    """Those whose entries are all within another one of the same stream."""
    found = set()
    for of_stream in by_stream(ranges).values():
        longest: EntryId | None = None
        # The longer first of two that begin together, so that none is within one that comes later.
        for range_ in sorted(sorted(of_stream, key=attrgetter("last"), reverse=True), key=attrgetter("first")):
            if longest is not None and range_.last <= longest:
                found.add(range_)
            else:
                longest = range_.last
    return found


def by_stream(ranges: Iterable[DrainedName]) -> dict[Stream, list[DrainedName]]:
    """There may be thousands in an hour, but only those of the same stream can have to do with each other."""
    found: dict[Stream, list[DrainedName]] = {}
    for range_ in ranges:
        found.setdefault(range_.stream, []).append(range_)
    return found
