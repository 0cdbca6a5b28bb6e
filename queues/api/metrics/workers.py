"""What the workers of one server tell each other: a file for each in a private directory that the server makes.

A file holds `counts` (only ever growing), `gauges` (of now) and which slots are `in_use`. Counts of workers that died
stay: the next worker to start adds them to `ended.json` and removes their files. What a killed worker counted after it
last wrote, a second at most, is lost. Nobody waits for anybody: a reader that finds a file gone reads all anew.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

import orjson

from .sharing import locked, replace_file

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
            # A crash between the two leaves files that are known to be buried: nobody counts them twice.
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
