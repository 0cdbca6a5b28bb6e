"""Which labels have series of their own: the same ones in all workers, or sums over workers would jump.

A label gets a slot while there are free ones, or one whose label nothing was counted for, in any worker, in IDLE_S.
Each time a slot is given it gets a new number, and workers count by number: so a series never goes back, and nobody
adds to the numbers of a label that lost its slot. The slots are in a file that workers share, changed under a lock; a
server without workers keeps them in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Final

import orjson

from .sharing import locked, replace_file

Key = tuple[str, ...]

IDLE_S: Final = 600.0
LOOK_AGAIN_S: Final = 10.0
"""When all slots are in use, idle ones are looked for this often."""

_SEPARATOR: Final = "\t"


class Slots:
    """`others_in_use`: slot number → when its label was last counted, in other workers."""

    def __init__(
        self,
        *,
        limit: int,
        others_in_use: Callable[[], Mapping[str, float]] = dict,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.limit = limit
        self.given: dict[Key, int] = {}
        self._given_at: dict[Key, float] = {}
        self._next = 1
        self._path: Path | None = None
        self._seen: tuple[int, int] | None = None
        self._others_in_use = others_in_use
        self._clock = clock
        self._look_again_at = float("-inf")

    def share(self, path: Path) -> None:
        """Have the same slots as all who share this file, which need not be there yet."""
        self._path = path

    def settle(self, wanted: Collection[Key], *, in_use: Mapping[str, float]) -> bool:
        """Give slots to those of `wanted` that can have one; `given` says which have. `in_use`: as others_in_use, here.

        False: another process is at it. Nobody waits for that.
        """
        self._read()
        if not self._can_give(wanted):
            return True
        with locked(self._path) as mine:
            if mine:
                self._read()
                self._give(wanted, in_use)
            return mine

    def _can_give(self, wanted: Collection[Key]) -> bool:
        if all(key in self.given for key in wanted):
            return False
        return len(self.given) < self.limit or self._clock() >= self._look_again_at

    def _give(self, wanted: Collection[Key], in_use: Mapping[str, float]) -> None:
        newcomers = sorted(key for key in wanted if key not in self.given)
        if not newcomers:
            return
        free = self.limit - len(self.given)
        if free < len(newcomers):
            self._look_again_at = self._clock() + LOOK_AGAIN_S
            free += self._take_idle(len(newcomers) - free, in_use)
        for key in newcomers[:free]:
            self.given[key] = self._next
            self._given_at[key] = self._clock()
            self._next += 1
        self._write()

    def _take_idle(self, most: int, in_use: Mapping[str, float]) -> int:
        """Take slots from labels that nobody has counted for so long, the longest unused first; how many."""
        used = dict(self._others_in_use())
        for number, at in in_use.items():
            used[number] = max(at, used.get(number, at))
        last = {key: max(self._given_at[key], used.get(str(number), 0.0)) for key, number in self.given.items()}
        idle = sorted((key for key in last if self._clock() - last[key] >= IDLE_S), key=last.__getitem__)[:most]
        for key in idle:
            del self.given[key], self._given_at[key]
        return len(idle)

    def _read(self) -> None:
        """What other workers have given and taken since the last look."""
        if self._path is None:
            return
        try:
            stat = self._path.stat()
            if (stat.st_ino, stat.st_mtime_ns) == self._seen:
                return
            content: dict[str, Any] = orjson.loads(self._path.read_bytes())
        except FileNotFoundError:
            return
        self._seen = (stat.st_ino, stat.st_mtime_ns)
        self._next = content["next"]
        entries = [(tuple(name.split(_SEPARATOR)), entry) for name, entry in content["given"].items()]
        self.given = {key: number for key, (number, _) in entries}
        self._given_at = {key: at for key, (_, at) in entries}

    def _write(self) -> None:
        if self._path is None:
            return
        given = {_SEPARATOR.join(key): (number, self._given_at[key]) for key, number in self.given.items()}
        replace_file(self._path, {"next": self._next, "given": given})
