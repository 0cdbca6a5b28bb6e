"""Numbers by label: a bounded number of labels have numbers of their own, the rest share those of `other`."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Final

from .slots import Key, Slots

Numbers = list[float]

OTHER: Final = "other"


class Series:
    """`width` numbers for each label that has a slot. Labels without one wait for `settle` with numbers of their own,
    as many of them as there are slots; the rest count as `other` at once."""

    __slots__ = ("_known", "_newcomers", "_settled", "_slots", "_width", "other")

    def __init__(self, *, slots: Slots, width: int) -> None:
        self._slots = slots
        self._width = width
        self._known: dict[Key, Numbers] = {}
        self._newcomers: set[Key] = set()
        self._settled: dict[Key, tuple[int, float, float]] = {}
        """Slot number, sum of the numbers when last looked at, when they last changed."""
        self.other: Numbers = [0] * width

    def of(self, key: Key) -> Numbers:
        """The numbers to add to."""
        numbers = self._known.get(key)
        return self._newcomer(key) if numbers is None else numbers

    def settle(self) -> None:
        """Give slots to newcomers where there are any; notice what others have given and taken; note what is in use."""
        if not self._slots.settle(self._newcomers, in_use=self.in_use()):
            return  # the next time will do
        self._newcomers = set()
        given = self._slots.given
        for key in [key for key in self._known if key not in given]:
            self._drop(key)
        now = monotonic()
        for key, numbers in self._known.items():
            number, total = given[key], sum(numbers)
            before = self._settled.get(key)
            if before is not None and before[0] != number:  # the slot was taken away, and given again since
                numbers[:] = [0] * self._width
                total = 0
            if before is None or before[:2] != (number, total):
                self._settled[key] = (number, total, now)

    def counted(self) -> dict[str, Numbers]:
        """Slot number → numbers."""
        return {str(number): self._known[key] for key, (number, _, _) in self._settled.items()}

    def in_use(self) -> dict[str, float]:
        """Slot number → when its numbers last changed, by the monotonic clock."""
        return {str(number): changed_at for number, _, changed_at in self._settled.values()}

    def labels(self) -> Mapping[Key, int]:
        """Which labels have slots, here or in another process."""
        return self._slots.given

    def _newcomer(self, key: Key) -> Numbers:
        if len(self._newcomers) >= self._slots.limit:
            return self.other
        self._newcomers.add(key)
        numbers = self._known[key] = [0] * self._width
        return numbers

    def _drop(self, key: Key) -> None:
        """A newcomer that got no slot counts as `other`; the counts of a slot that was taken away go with it."""
        numbers = self._known.pop(key)
        if self._settled.pop(key, None) is None:
            for place, number in enumerate(numbers):
                self.other[place] += number
