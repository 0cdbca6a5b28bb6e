"""Cells of hours as files: a cache, keyed by what the events of an hour rest on (`queues.lake.fingerprints`).

    OUT/cells/date=D/run=ID/TABLE.parquet/    what a run made of the hours that it reduced
    OUT/cells/date=D/run=ID/run.json          what happened in which hours, in all queues together; and of each file
                                              its size, CRC-32 of the footer, and rows
    OUT/cells/date=D/hour=HH.json             pointer to the run whose cells of that hour count; written last

A pointer that does not fit what the lake has by now is passed over, and so is one whose files are not as they were
written: the hour is reduced again. Pages have checksums of their own, which Spark verifies.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from queues.lake.names import SUFFIX, day_dir
from queues.lake.storage import LakeError, Storage

from .events import spark_url
from .tables.cells import VERSION

CELLS: Final = "cells"
TABLES: Final = ("counts", "values", "notable")
RUN: Final = "run="
STALE_S: Final = 86_400
"""Files to which no pointer leads are deleted when they are older: a run that still reads them has ended by then."""

_TABLE: Final = re.compile(rf"/{CELLS}/date=[^/]+/{RUN}([^/]+)/\w+\.parquet\b")

READERS: Final = 8
_END: Final = 8
"""Bytes behind a footer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HourCells:
    """Cells of an hour: made by `run_id` of `events` events that `fingerprint` stands for."""

    hour: int
    fingerprint: str
    run_id: str
    events: int


@dataclass(slots=True, kw_only=True)
class HourTotals:
    """What happened in an hour, in all queues together. `groups`: rows of counts that say so."""

    by_kind: dict[str, int] = field(default_factory=dict)
    groups: int = 0
    demo: bool = False
    last_at_ms: int = 0

    @property
    def events(self) -> int:
        return sum(self.by_kind.values())


class CellRun(NamedTuple):
    """The hours that a run has reduced, and the rows of each table."""

    totals: Mapping[int, HourTotals]
    rows: Counter[str]

    @property
    def hours(self) -> Set[int]:
        return self.totals.keys()


class CellFiles:
    """The cells of a day."""

    def __init__(self, storage: Storage, day: date) -> None:
        self._storage, self._folder = storage, f"{CELLS}/{day_dir(day)}"
        self._runs: dict[str, CellRun | None] = {}

    def table_url(self, run_id: str, table: str) -> str:
        """As Spark calls it."""
        return spark_url(self._storage.url(f"{self._run(run_id)}/{table}.parquet"))

    @property
    def url(self) -> str:
        """Of the day, as Spark calls it."""
        return spark_url(self._storage.url(self._folder))

    def find(self, wanted: Mapping[int, str]) -> dict[int, HourCells]:
        """The hours of which there are cells; `wanted`: their fingerprints. Raises LakeError."""
        there = {entry.name for entry in self._storage.list(self._folder)}
        hours = [hour for hour in wanted if _pointer(hour) in there]
        with ThreadPoolExecutor(READERS) as threads:
            told = [one for one in threads.map(self._read_pointer, hours) if one is not None]
        fitting = [one for one in told if one.fingerprint == wanted[one.hour]]
        totals = {one.hour: self.run(one.run_id).totals.get(one.hour) for one in fitting}
        return {one.hour: one for one in fitting if (had := totals[one.hour]) is not None and had.events == one.events}

    def run(self, run_id: str) -> CellRun:
        """What a run has written: nothing, if its files are not as it wrote them."""
        if run_id not in self._runs:
            self._runs[run_id] = self._check_run(run_id)
        return self._runs[run_id] or CellRun({}, Counter())

    def distrust(self, run_id: str) -> None:
        """Take the files of a run for damaged from now on."""
        self._runs[run_id] = None

    def totals(self, run_id: str) -> dict[int, HourTotals]:
        """What the table of counts adds up to that a run has written. Raises LakeError, OSError, ArrowException.

        Read here, batch by batch: a job of Spark's takes many times as long for so few columns.
        """
        found: dict[int, HourTotals] = {}
        with ThreadPoolExecutor(READERS) as threads:
            for rows in threads.map(self._add_up, self._files(run_id, "counts")):
                for row in rows:
                    total = found.setdefault(row["hour"], HourTotals())
                    total.by_kind[row["kind"]] = total.by_kind.get(row["kind"], 0) + row["events_sum"]
                    total.groups += row["events_count"]
                    total.demo |= row["demo_any"]
                    total.last_at_ms = max(total.last_at_ms, row["last_at_max"])
        return found

    def _add_up(self, path: str) -> list[dict[str, Any]]:
        """Events of each hour and kind, and how many rows tell of them."""
        columns = ("hour", "kind", "events", "demo", "last_at")
        aggregates = [("events", "sum"), ("events", "count"), ("demo", "any"), ("last_at", "max")]
        rows: list[dict[str, Any]] = []
        with self._storage.open(path, "rb") as file:
            for batch in pq.ParquetFile(file, page_checksum_verification=True).iter_batches(columns=columns):
                times = batch["last_at"]
                ms = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
                table = pa.table({name: batch[name] for name in columns} | {"last_at": ms})
                rows += table.group_by(["hour", "kind"]).aggregate(aggregates).to_pylist()
        return rows

    def write_run(self, run_id: str, totals: Mapping[int, HourTotals]) -> None:
        """Note what there is of a run by now, which has reduced the hours of `totals`. Raises LakeError."""
        paths = [path for table in TABLES for path in self._files(run_id, table)]
        files = {path.removeprefix(f"{self._run(run_id)}/"): self._look(path) for path in paths}
        content = {"hours": {str(hour): asdict(total) for hour, total in sorted(totals.items())}, "files": files}
        self._write(f"{self._run(run_id)}/run.json", content)
        self._runs.pop(run_id, None)

    def write_pointers(self, hours: Iterable[HourCells]) -> None:
        """From now on these cells count, all tables of which are there. Raises LakeError."""
        for one in sorted(hours, key=lambda one: one.hour):
            told = {"version": VERSION, "fingerprint": one.fingerprint, "run": one.run_id, "events": one.events}
            self._write(f"{self._folder}/{_pointer(one.hour)}", told)

    def forget(self, run_id: str) -> None:
        """Delete what a run has written and no pointer leads to."""
        with suppress(LakeError, OSError):  # then it is deleted when it is old
            if self._storage.list(self._run(run_id)) and run_id not in self._pointed_to():
                self._storage.fs.rm(self._storage.path(self._run(run_id)), recursive=True)
                for folder in (self._folder, CELLS):
                    if not self._storage.list(folder):
                        self._storage.fs.rmdir(self._storage.path(folder))

    def remove_stale(self) -> None:
        """Delete runs to which no pointer leads any more, once they are old. Raises LakeError, OSError."""
        used = self._pointed_to()
        for entry in self._storage.list(self._folder):
            if entry.is_dir and entry.name.startswith(RUN) and entry.name.removeprefix(RUN) not in used:
                ages = [one.age_s for one in self._storage.list(f"{self._folder}/{entry.name}")]
                if all(age is not None and age > STALE_S for age in (*ages, *([entry.age_s] if not ages else []))):
                    self._storage.fs.rm(self._storage.path(f"{self._folder}/{entry.name}"), recursive=True)

    def _pointed_to(self) -> Collection[str]:
        told = (self._read_pointer(hour) for hour in range(24))
        return {one.run_id for one in told if one is not None}

    def _run(self, run_id: str) -> str:
        return f"{self._folder}/{RUN}{run_id}"

    def _read_pointer(self, hour: int) -> HourCells | None:
        told = self._read(f"{self._folder}/{_pointer(hour)}")
        if told is None or told.get("version") != VERSION:
            return None
        try:
            return HourCells(
                hour=hour,
                fingerprint=str(told["fingerprint"]),
                run_id=str(told["run"]),
                events=int(told["events"]),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def _check_run(self, run_id: str) -> CellRun | None:
        told = self._read(f"{self._run(run_id)}/run.json")
        if told is None:
            return None
        try:
            for name, known in told["files"].items():
                if self._look(f"{self._run(run_id)}/{name}") != known:
                    return None
            rows = Counter[str]()
            for name, (_, _, number) in told["files"].items():
                rows[name.partition(".")[0]] += number
            return CellRun({int(hour): HourTotals(**total) for hour, total in told["hours"].items()}, rows)
        except (LakeError, OSError, pa.ArrowException, ValueError, KeyError, TypeError, AttributeError):
            return None  # or it was written by an earlier version of taskq, without totals

    def _files(self, run_id: str, table: str) -> list[str]:
        """Raises LakeError."""
        folder = f"{self._run(run_id)}/{table}.parquet"
        names = sorted(entry.name for entry in self._storage.list(folder))
        return [f"{folder}/{name}" for name in names if name.endswith(SUFFIX) and name[0] not in "_."]

    def _look(self, path: str) -> list[int]:
        """Size, CRC-32 of the footer and rows of a Parquet file. Raises OSError, LakeError, ArrowException."""
        with self._storage.open(path, "rb") as file:
            file.seek(0, os.SEEK_END)  # not every file system's answers with the place
            size = file.tell()
            file.seek(max(size - _END, 0))
            footer = int.from_bytes(file.read(4), "little") + _END
            file.seek(max(size - footer, 0))
            end = file.read()
            return [size, zlib.crc32(end), int(pq.read_metadata(pa.BufferReader(end)).num_rows)]

    def _read(self, path: str) -> dict[str, Any] | None:
        """What `_write` wrote; None: nothing, or something else."""
        with suppress(FileNotFoundError, LakeError, ValueError, KeyError, TypeError):
            told = json.loads(self._storage.read(path))
            content: dict[str, Any] = told["content"]
            if told["crc"] == _crc(content):
                return content
        return None

    def _write(self, path: str, content: Mapping[str, Any]) -> None:
        """At once and as a whole, in the place of what is there. Raises LakeError."""
        self._storage.replace(path, json.dumps({"content": content, "crc": _crc(content)}).encode())


def run_of(url: str) -> str | None:
    """The run that wrote a file of cells; None: it is none."""
    found = _TABLE.search(url)
    return None if found is None else found[1]


def _crc(content: object) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _pointer(hour: int) -> str:
    return f"hour={hour:02d}.json"
