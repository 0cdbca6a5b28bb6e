"""Lakes of one day, of several shapes: few queues and many, few files and many, small and large."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow.parquet as pq

from queues.lake.names import EntryId, drained_name
from queues.lake.writer import parquet_bytes

ROOT: Final = Path(__file__).parents[2]
DAY: Final = "2026-11-18"
"""A Wednesday: a working day, and long over."""

QUEUES: Final = 10_000
SLICES: Final = 96
"""Files of an hour: 8 partitions, each drained every five minutes."""

PARTITIONS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A day, and how many seconds its report may take. `jobs`: of demo data, some 3.6 events each. `of`: the lake of
    which `change` makes this one's files."""

    name: str
    most_s: float
    jobs: int = 0
    of: str = ""
    change: Callable[[Any, Path], None] | None = None


def _in_slices(table: Any, path: Path) -> None:
    """As drains write it, in the place of one file."""
    rows = -(-len(table) // SLICES)
    for number in range(SLICES):
        part = table.slice(number * rows, rows)
        name = drained_name(
            "default", number % PARTITIONS, EntryId(number * 1_000, 0), EntryId(number * 1_000 + 999, 0)
        )
        path.with_name(str(name)).write_bytes(parquet_bytes(part))


def _in_many_queues(table: Any, path: Path) -> None:
    """Each job in one of QUEUES queues."""
    name = f"'customer-' || lpad((hash(job) % {QUEUES})::varchar, 5, '0')"
    changed = duckdb.from_arrow(table).project(f"* replace ({name} as queue)")
    path.write_bytes(parquet_bytes(changed.to_arrow_table().cast(table.schema)))


SHAPES: Final = (
    Shape(name="7 queues, 24 files", most_s=35, jobs=2_955_000),
    Shape(name="the same in 2,304 files", most_s=45, of="7 queues, 24 files", change=_in_slices),
    Shape(name="10,000 queues", most_s=100, of="7 queues, 24 files", change=_in_many_queues),
    Shape(name="three times the events", most_s=60, jobs=8_840_000),
    Shape(name="a small shop's day", most_s=15, jobs=7_970),
)
MEMORY_GIB: Final = 3


def make_lake(shape: Shape, lakes: Path, *, share: float = 1) -> Path:
    """The lake of that shape, made unless it is there. `share`: of its events, where it is to be smaller."""
    name = shape.name if share == 1 else f"{shape.name} {share:g}"
    lake = lakes / "".join(letter if letter.isalnum() else "-" for letter in name)
    if lake.is_dir():
        return lake
    unfinished = lake.with_suffix(".tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    if shape.change is None:
        jobs = round(shape.jobs * share)
        env = environment(unfinished, lakes / "unused")
        manage(env, "demodata", "--days=1", f"--jobs-per-day={jobs}", f"--until={DAY}")
    else:
        source = make_lake(next(one for one in SHAPES if one.name == shape.of), lakes, share=share)
        for file in sorted(source.glob("date=*/hour=*/*.parquet")):
            path = unfinished / file.relative_to(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            shape.change(pq.ParquetFile(file).read(), path)
    unfinished.rename(lake)
    return lake


def environment(lake: Path, data: Path) -> dict[str, str]:
    """Of a command with that lake and data of its own."""
    places = {"TASKQ_DATA_DIR": data, "TASKQ_LAKE_URL": lake, "TASKQ_REPORTS_URL": data / "reports"}
    return {**os.environ, "DATABASE_URL": ""} | {name: str(path) for name, path in places.items()}


def manage(env: dict[str, str], *words: str) -> None:
    """Run `manage.py`. Raises CalledProcessError."""
    subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
