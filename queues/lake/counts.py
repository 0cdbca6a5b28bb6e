"""Redis's own counts of jobs, noted hourly: a file for each pool and hour, to which reports anchor backlogs.

    LAKE/_counts/date=2026-11-21/POOL-h16.parquet

A row for each queue that had jobs, with the newest event of the partition when it was counted; and for each partition
a row with an empty queue for those that had none: between its two events all queues were looked through.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

from .footers import DamagedFooterError, has_sound_data, read_footer
from .names import HOUR_MS, EntryId, day_dir, pool_in_name
from .schema import Column, ColumnType
from .storage import LakeError, Storage

COUNTS: Final = "_counts"
_NAME: Final = re.compile(r"(?P<pool>.+)-h\d{2}\.parquet\Z")

TABLE: Final[tuple[Column, ...]] = (
    Column("pool", "string", False, "name of the pool"),
    Column("partition", "int16", False, "of the pool, from 0"),
    Column("partitions", "int16", False, "how many the pool has"),
    Column("namespace", "string", False, "name of the namespace; empty: the row is about all queues without a row"),
    Column("queue", "string", False, "name of the queue; empty like `namespace`"),
    Column("hour", "int32", False, "of the day (UTC), when the queue was counted"),
    Column("jobs", "int64", True, "neither dead nor completed; null where the queue has batches of groups"),
    Column("from_ms", "int64", False, "newest stream entry when the queue, or the first one, was counted", "ms"),
    Column("from_seq", "int64", False, "the part of its id after the dash"),
    Column("until_ms", "int64", False, "newest stream entry when the queue, or the last one, was counted", "ms"),
    Column("until_seq", "int64", False, "the part of its id after the dash"),
)
"""In the order in which files have them."""

COLUMNS: Final[dict[str, ColumnType]] = {column.name: column.type for column in TABLE}
"""Name and type as pyarrow calls it."""


class QueueCount(NamedTuple):
    """`entry`: the newest event of the partition when the queue's `jobs` were counted, in the hour `hour` (0 to 23)."""

    namespace: str
    queue: str
    hour: int
    jobs: int | None
    entry: EntryId


class CountedPartition(NamedTuple):
    """All queues of a partition that had jobs. `begin`, `end`: the newest event before and after they were counted."""

    queues: Sequence[QueueCount]
    begin: EntryId
    end: EntryId


def is_counted(storage: Storage, pool: str, at_ms: int) -> bool:
    """Whether the counts of that hour have been noted. Raises LakeError."""
    folder, _, name = _path(pool, at_ms).rpartition("/")
    return any(entry.name == name for entry in storage.list(folder))


def write_counts(storage: Storage, pool: str, at_ms: int, counted: Sequence[CountedPartition]) -> None:
    """Note the counts of a pool's partitions, in order, unless others have done it this hour. Raises LakeError."""
    import pyarrow as pa  # here and below: processes that do not write files do without its time and memory

    from .writer import parquet_bytes

    hour = at_ms // HOUR_MS % 24
    rows: list[tuple[Any, ...]] = []
    for number, part in enumerate(counted):
        same = (pool, number, len(counted))
        rows += ((*same, one.namespace, one.queue, one.hour, one.jobs, *one.entry, *one.entry) for one in part.queues)
        rows.append((*same, "", "", hour, 0, *part.begin, *part.end))
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(list(values), getattr(pa, kind)()) for values, kind in zip(columns, COLUMNS.values(), strict=True)
    ]
    storage.put(_path(pool, at_ms), parquet_bytes(pa.Table.from_arrays(arrays, names=list(COLUMNS))))


class NewestCounts(NamedTuple):
    """A file, and the hours of the day (0 to 23) in which its queues were counted."""

    url: str
    hours: frozenset[int]


def newest_counts(storage: Storage, day: date) -> tuple[list[NewestCounts], list[tuple[str, str]]]:
    """Each pool's newest counts of a day that can be read; and URLs of files that cannot, with the reason."""
    folder = f"{COUNTS}/{day_dir(day)}"
    by_pool: dict[str, list[str]] = {}
    for entry in storage.list(folder):
        if (found := _NAME.match(entry.name)) and not entry.name.startswith("."):
            by_pool.setdefault(found["pool"], []).append(entry.name)
    newest: list[NewestCounts] = []
    damaged: list[tuple[str, str]] = []
    for names in by_pool.values():
        for name in sorted(names, reverse=True):
            url = storage.url(f"{folder}/{name}")
            try:
                table = _read(storage, f"{folder}/{name}")
            except (FileNotFoundError, LakeError) as error:
                damaged.append((url, str(error).removeprefix(f"{url}: ")))
            else:
                newest.append(NewestCounts(url, frozenset(table["hour"].unique().to_pylist())))
                break
    return newest, damaged


def read_counts(storage: Storage, path: str) -> list[dict[str, Any]]:
    """The rows of a file. Raises LakeError, FileNotFoundError."""
    rows: list[dict[str, Any]] = _read(storage, path).to_pylist()
    return rows


def _read(storage: Storage, path: str) -> Any:
    import pyarrow.parquet as pq

    with storage.open(path, "rb") as file:
        try:
            if has_sound_data(file, read_footer(file)):
                file.seek(0)
                return pq.ParquetFile(file, page_checksum_verification=True).read(columns=list(COLUMNS))
            reason = "is damaged: its data is not what was written"
        except DamagedFooterError as error:
            reason = str(error)
        except Exception as error:  # pyarrow's errors share no base class of their own
            reason = f"is damaged: {' '.join(str(error).split())}"
    raise LakeError(f"{storage.url(path)}: {reason}")


def _path(pool: str, at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{COUNTS}/{day_dir(at.date())}/{pool_in_name(pool)}-h{at.hour:02d}.parquet"
