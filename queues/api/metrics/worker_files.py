"""Sums the counts of one server's workers, through files in a private directory that the server makes.

A file for each worker holds `counts` (only ever growing), `gauges` (of now) and which slots are `in_use`. Counts of
workers that ended stay: the next worker to start adds them to `ended.json` and removes their files. What a killed
worker counted after it last wrote, a second at most, is lost. No worker waits for another: a reader that finds a file
gone reads all anew.

One file says which labels have series of their own: the same ones in all workers, or sums over workers would jump. A
label gets a slot while there are free ones, or one whose label nothing was counted for, in any worker, in IDLE_S. Each
time a slot is given it gets a new number, and workers count by number: so a series never goes back, and nothing is
added to the numbers of a label that lost its slot. A server without workers keeps the slots in memory.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

import orjson

Snapshot = dict[str, Any]

ENDED: Final = "ended.json"
TOUCH_INTERVAL_S: Final = 3_600.0
_TRIES: Final = 5


class Workers:
    """The view of one worker. Until it joins a directory, there are no others."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._own: Path | None = None
        self.is_worker = True
        self.has_written = False
        self.is_failing = False
        self._touch_at = 0.0

    def join(self, directory: Path, *, is_worker: bool = True) -> None:
        """Be one of the workers that share `directory`, or another process that counts."""
        self._directory = directory
        self.is_worker = is_worker
        self._own = directory / f"worker-{os.getpid()}-{secrets.token_hex(4)}.json"

    def write(self, snapshot: Snapshot) -> None:
        """Tell the others."""
        if self._own is not None:
            replace_file(self._own, {"pid": os.getpid(), **snapshot})
            self.has_written = True
            self._keep_fresh()

    def add_others(self, own: Snapshot) -> Snapshot:
        """`own` and those of the others as one. Gauges are those of workers that live."""
        for _ in range(_TRIES):
            try:
                return self._add_others(own)
            except FileNotFoundError:
                continue  # added to those that ended, just now
        return own

    def in_use(self, what: str) -> dict[str, float]:
        """Slot number → when its label was last counted, in the other workers that live."""
        latest: dict[str, float] = {}
        try:
            for other in [_read(path) for path in self._files()]:
                for number, at in other["in_use"][what].items() if _lives(other) else ():
                    latest[number] = max(at, latest.get(number, at))
        except FileNotFoundError:
            pass  # a worker that has ended uses nothing
        return latest

    def merge_ended(self, slots: Mapping[str, Collection[str]]) -> None:
        """Add the counts of workers that died to those that ended before. `slots`: of which numbers are kept."""
        if self._directory is None:
            return
        with locked(self._directory / ENDED) as mine:
            if not mine:
                return
            ended = self._read_ended()
            self._remove(ended["buried"])
            for path, other in [(path, _read(path)) for path in self._files()]:
                if not _lives(other):
                    ended["counts"] = add(ended["counts"], other["counts"])
                    ended["buried"].append(path.name)
            for what, kept in slots.items():
                counted = ended["counts"].get(what, {})
                ended["counts"][what] = {number: counted[number] for number in counted if number in kept}
            # A crash between the two leaves files that are listed as buried: they are not counted twice.
            replace_file(self._directory / ENDED, ended)
            self._remove(ended["buried"])

    def _keep_fresh(self) -> None:
        """Now and then touch every file: what looks old in a directory for temporary files is deleted one day."""
        if self._directory is not None and monotonic() >= self._touch_at:
            self._touch_at = monotonic() + TOUCH_INTERVAL_S
            for path in self._directory.iterdir():
                with suppress(FileNotFoundError):  # another worker has just replaced it
                    os.utime(path)

    def _add_others(self, own: Snapshot) -> Snapshot:
        files = self._files()  # first, so that a file which is gone by now is among those that ended
        ended = self._read_ended()
        counts, gauges = add(ended["counts"], own["counts"]), own["gauges"]
        for other in [_read(path) for path in files if path.name not in ended["buried"]]:
            counts = add(counts, other["counts"])
            gauges = add(gauges, other["gauges"]) if _lives(other) else gauges
        return {"counts": counts, "gauges": gauges}

    def _files(self) -> list[Path]:
        """Those of the others."""
        if self._directory is None:
            return []
        return [path for path in sorted(self._directory.glob("worker-*.json")) if path != self._own]

    def _read_ended(self) -> Snapshot:
        path = None if self._directory is None else self._directory / ENDED
        return _read(path) if path is not None and path.exists() else {"counts": {}, "buried": []}

    def _remove(self, names: list[str]) -> None:
        assert self._directory is not None
        for name in names:
            (self._directory / name).unlink(missing_ok=True)
        names.clear()


def add(one: Any, other: Any) -> Any:
    """Numbers are added, lists place by place, mappings by key. Neither argument is changed."""
    if isinstance(one, Mapping):
        both = dict(one)
        for key, value in other.items():
            both[key] = add(one[key], value) if key in one else value
        return both
    if isinstance(one, list):
        return [a + b for a, b in zip(one, other, strict=True)]
    return one + other


def _lives(snapshot: Snapshot) -> bool:
    try:
        os.kill(snapshot["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's process with the number of ours; the file stays until that ends
    return True


def _read(path: Path) -> Snapshot:
    content: Snapshot = orjson.loads(path.read_bytes())
    return content


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
        """Take slots from labels that were not counted for IDLE_S, the longest unused first. Returns how many."""
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


def replace_file(path: Path, content: Any) -> None:
    """Replace a file atomically: a reader sees all of the old or all of the new content."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(orjson.dumps(content))
    draft.replace(path)


@contextmanager
def locked(path: Path | None) -> Iterator[bool]:
    """Hold the lock of the directory that `path` is in; False if another process holds it, or the directory is gone.

    Without a path there are no other processes. The lock of a process that dies is free again.
    """
    if path is None:
        yield True
        return
    if not path.parent.is_dir():
        yield False
        return
    with (path.parent / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
