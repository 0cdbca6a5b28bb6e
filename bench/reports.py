"""`python -m bench.reports [--millions 10 30] [--keep DIR]`: how long the report of a day takes, from command to rows.

Days are written by `manage.py demodata` into a lake of their own and reported by `manage.py runreport`, with a database
of its own: what is measured is what people run, Spark's start and the loading of rows included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from queues.lake.files import read_day

from .report import Bar, Figure, Section, show

ROOT: Final = Path(__file__).parents[1]
DAY: Final = "2026-11-18"
"""A Wednesday: a working day, and long over."""

EVENTS_PER_JOB: Final = 3.374
"""Of a Wednesday's demo data."""

SECONDS_FOR_TEN_MILLION: Final = 60
MEMORY_GIB: Final = 4
LOOK_EVERY_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run: the events of the day, seconds from command to end, and the greatest memory of all its processes."""

    events: int
    seconds: float
    gib: float

    @property
    def per_million(self) -> float:
        return self.seconds / self.events * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.reports", description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[10, 30], help="events of each day (default: 10 30)")
    parser.add_argument("--keep", type=Path, help="where lakes are made and kept for the next time")
    asked = parser.parse_args()
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="taskq-bench-reports-") as scratch:
        for millions in asked.millions:
            found.append(measure(millions, lakes=asked.keep or Path(scratch), data=Path(scratch)))
            one, first = found[-1], found[0].per_million
            bars = millions == 10
            figures = [
                Figure(name="events", unit="", runs=[one.events]),
                Figure(name="command to rows", unit="s", runs=[one.seconds], bar=_most(SECONDS_FOR_TEN_MILLION, bars)),
                Figure(name="per million", unit="s", runs=[one.per_million], bar=_most(first, one is not found[0])),
                Figure(name="memory, all processes", unit="GiB", runs=[one.gib], bar=_most(MEMORY_GIB, True)),
            ]  # fmt: skip
            show(Section(title=f"report of a day of {millions} million events", figures=figures))
    return 0


def measure(millions: int, *, lakes: Path, data: Path) -> Measured:
    """Make the day, if it is not there, and report it into a new database."""
    lake = lakes / f"lake-{millions}"
    own = data / f"data-{millions}"
    own.mkdir()
    env = {
        **os.environ,
        "TASKQ_DATA_DIR": str(own),
        "TASKQ_LAKE_URL": str(lake),
        "TASKQ_REPORTS_URL": str(own / "reports"),
    }
    env.pop("DATABASE_URL", None)
    jobs = round(millions * 1e6 / EVENTS_PER_JOB)
    if not (lake / f"date={DAY}").is_dir():
        begun = time.monotonic()
        _manage(env, "demodata", "--days=1", f"--jobs-per-day={jobs}", f"--until={DAY}")
        print(f"{millions} million events made in {time.monotonic() - begun:.0f} s", flush=True)
    _manage(env, "migrate", "--verbosity=0")
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, "manage.py", "runreport", f"--date={DAY}"], cwd=ROOT, env=env) as process:
        peak = _Peak(process.pid)
        status = process.wait()
        seconds = time.monotonic() - begun
    gib = peak.end() / 2**30
    if status:
        raise SystemExit(f"runreport ended with status {status}")
    return Measured(events=_rows(lake), seconds=seconds, gib=gib)


class _Peak:
    """Follows the memory of a process and all below it. Pages that processes share count for each."""

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
            self._most = max(self._most, sum(map(_resident, _family(self._pid))))


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _manage(env: dict[str, str], *words: str) -> None:
    subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)


def _rows(lake: Path) -> int:
    return read_day(str(lake), date.fromisoformat(DAY)).rows


def _most(value: float, asked: bool) -> Bar | None:
    return Bar(sense="≤", value=round(value, 3)) if asked else None


if __name__ == "__main__":
    sys.exit(main())
