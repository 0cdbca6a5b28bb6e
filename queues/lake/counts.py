"""Redis's own counts of jobs, noted hourly: a file for each pool and hour, to which reports anchor backlogs.

    LAKE/_counts/date=2026-11-21/POOL-h16.parquet

A row for each queue that had jobs, with the newest event of the partition when it was counted; and for each partition
a row with an empty queue for those that had none: between its two events all queues were looked through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

from .footers import DamagedFooterError, has_sound_data, read_footer
from .names import HOUR_MS, STALE_S, EntryId, Stream, day_dir, is_temporary, pool_in_name, temporary_name
from .schema import Column, ColumnType
from .storage import LakeError, Storage

COUNTS: Final = "_counts"
_NAME: Final = re.compile(r"(?P<pool>.+)-h\d{2}\.parquet\Z")

ROWS_AT_ONCE: Final = 5_000
"""Rows that are in memory, and written, at a time."""

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


def is_counted(storage: Storage, pool: str, at_ms: int) -> bool:
    """Whether the counts of that hour have been noted. Raises LakeError."""
    folder, _, name = _path(pool, at_ms).rpartition("/")
    return any(entry.name == name for entry in storage.list(folder))


class CountsWriter:
    """Writes the counts of a pool's queues in an hour, unless others have done it. Call `put` or `discard` in the end.

    What is added is written soon, so that memory does not grow with the number of queues. All raise LakeError.
    """

    def __init__(self, storage: Storage, pool: str, at_ms: int, *, partitions: int) -> None:
        import pyarrow as pa  # here and below: processes that do not write files do without its time and memory

        from .writer import parquet_writer

        self._storage, self._pool, self._partitions = storage, pool, partitions
        self.hour = at_ms // HOUR_MS % 24
        self._path = _path(pool, at_ms)
        folder, _, name = self._path.rpartition("/")
        self._temporary = f"{folder}/{temporary_name(name)}"
        self._schema = pa.schema([pa.field(column, getattr(pa, kind)()) for column, kind in COLUMNS.items()])
        self._rows: list[tuple[Any, ...]] = []
        storage.make_dir(folder)
        self._open = ExitStack()
        with self._errors():
            file = self._open.enter_context(storage.open(self._temporary, "wb"))
            self._writer = self._open.enter_context(parquet_writer(file, self._schema))

    def add_queues(self, partition: int, queues: Iterable[QueueCount]) -> None:
        """Some queues of a partition that have jobs."""
        same = (self._pool, partition, self._partitions)
        self._rows += ((*same, one.namespace, one.queue, one.hour, one.jobs, *one.entry, *one.entry) for one in queues)
        if len(self._rows) >= ROWS_AT_ONCE:
            self._write()

    def end_partition(self, partition: int, begin: EntryId, end: EntryId) -> None:
        """All queues of it were added. `begin`, `end`: the newest event before and after they were counted."""
        self._rows.append((self._pool, partition, self._partitions, "", "", self.hour, 0, *begin, *end))

    def put(self) -> None:
        """Put the file into place."""
        self._write()
        with self._errors():
            self._open.close()
        self._storage.put_written(self._path, self._temporary)

    def discard(self) -> None:
        """Leave nothing behind. May be called in any case."""
        with suppress(Exception):
            self._open.close()
        self._storage.forget(self._temporary)

    def _write(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(list(values), field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._rows = []
        with self._errors():
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except LakeError:
            raise
        except Exception as error:  # of a file system, or of pyarrow, whose errors share no base class
            raise LakeError(f"{self._storage.url(self._path)}: {error}") from error


def remove_stale_counts(storage: Storage, day: date) -> None:
    """Delete what processes that died while they wrote counts of that day have left behind. Raises LakeError."""
    folder = f"{COUNTS}/{day_dir(day)}"
    for entry in storage.list(folder):
        if is_temporary(entry.name) and entry.age_s is not None and entry.age_s > STALE_S:
            storage.delete(f"{folder}/{entry.name}")


class NewestCounts(NamedTuple):
    """A file, and the hours of the day (0 to 23) in which its queues were counted."""

    url: str
    hours: frozenset[int]


def newest_counts(
    storage: Storage, day: date, *, written: Mapping[Stream, EntryId]
) -> tuple[list[NewestCounts], list[tuple[str, str]]]:
    """Each pool's newest counts of a day whose events have all come; and URLs of files that cannot be read, with the
    reason.

    `written`: up to which entry events of the day are known of each stream (`DayFiles.written`). Counts of later
    entries are passed over, whatever the reason: a drain that is behind, or files that were listed before them.
    """
    begins = EntryId(int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000), 0)  # none are before
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
                if all(entry <= written.get(stream, begins) for stream, entry in _last_entries(table)):
                    newest.append(NewestCounts(url, frozenset(table["hour"].unique().to_pylist())))
                    break
    return newest, damaged


def _last_entries(table: Any) -> Iterator[tuple[Stream, EntryId]]:
    """The newest entry of each stream when its last queue had been counted."""
    import pyarrow.compute as pc

    for row in table.filter(pc.equal(table["queue"], "")).to_pylist():
        yield Stream(pool_in_name(row["pool"]), row["partition"]), EntryId(row["until_ms"], row["until_seq"])


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
