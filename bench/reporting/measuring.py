"""Runs commands and follows their memory."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .days import ROOT

LOOK_EVERY_S: Final = 0.2
NEARLY: Final = 50
"""Two numbers are nearly equal if they differ by at most this part of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One command: seconds from start to end, of processors, and the greatest memory of all its processes.

    Where others use the machine, seconds from start to end say little, those of processors nearly the same as always.
    """

    seconds: float
    cpu_s: float
    gib: float


def measure(words: Sequence[str], *, env: dict[str, str]) -> Measured:
    """Run it. Raises SystemExit if it fails."""
    begun, used = time.monotonic(), _used()
    with subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.DEVNULL) as process:
        peak = _Peak(process.pid)
        status = process.wait()
        seconds = time.monotonic() - begun
    gib = peak.end() / 2**30
    if status:
        raise SystemExit(f"{' '.join(words)} ended with status {status}")
    return Measured(seconds=seconds, cpu_s=_used() - used, gib=gib)


def _used() -> float:
    """Seconds of processors that commands have used, those that they started included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class _Peak:
    """Follows the memory of a process and all below it. Pages that some share count for each, unless they share all."""

    def __init__(self, pid: int) -> None:
        self._pid, self._over, self._most = pid, threading.Event(), 0
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def end(self) -> int:
        """The most that there was, in bytes."""
        self._over.set()
        self._thread.join()
        return self._most

    def _follow(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self._most = max(self._most, _resident(_family(self._pid)))


def _family(pid: int) -> dict[int, int]:
    """A process and all below it, parents first: each with its parent."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, todo = {pid: 0}, [pid]
    for one in todo:
        children = parents.get(one, [])
        found |= dict.fromkeys(children, one)
        todo += children
    return found


def _resident(family: dict[int, int]) -> int:
    """Bytes of all of them. Java that is about to run another program is there twice for a moment, with one memory."""
    sizes = {pid: size for pid in family if (size := _size(pid)) is not None}
    pages = 0
    for pid, (whole, own) in sizes.items():
        whole_of_parent, own_of_parent = sizes.get(family[pid], (0, 0))
        # Nearly: one is read after the other. A fork that has come to write has pages of its own.
        is_the_same = whole == whole_of_parent and abs(own - own_of_parent) * NEARLY <= own
        pages += 0 if is_the_same else own
    return pages * os.sysconf("SC_PAGE_SIZE")


def _size(pid: int) -> tuple[int, int] | None:
    """Pages of its address space, and those in memory; None: it has ended."""
    try:
        whole, own, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except OSError:
        return None
    return whole, own
