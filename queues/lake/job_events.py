"""The events of one job, for its page: found in the hours from its publish on, with a bounded amount of reading.

A job's id says when it was published, so the search begins with that hour and goes on hour by hour until the job has
ended. Of a drained file its name says whether it can have the queue's events; of a compacted one, the statistics of its
row groups do, because it is sorted by queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from .deletion import deleted_days
from .files import DamagedFile, DamagedFileError, HourFiles, footer_of, hour_folders, read_hour
from .names import HOUR_MS, hour_dir, parse_drained, pool_in_name
from .storage import LakeError, Storage

HOURS_MAX: Final = 24 * 7
"""From the publish on. What a job did later is not looked for."""

FILES_MAX: Final = 300
BYTES_MAX: Final = 128 * 1024 * 1024
"""Of columns, as they are once they are decompressed."""

SECONDS_MAX: Final = 1.5

ENDS: Final = frozenset({"acked", "deleted", "expired", "purged"})
"""Kinds after which nothing comes, but for `purged` after `acked`."""

_COLUMNS: Final = (
    "pool",
    "namespace",
    "queue",
    "job",
    "kind",
    "at",
    "attempt",
    "wait_ms",
    "run_ms",
    "size",
    "worker",
    "error",
)
_NAMES: Final = ("pool", "namespace", "queue", "job")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """As a row of the lake (docs/data/events.md). `at_ms`: since 1970."""

    kind: str
    at_ms: int
    attempt: int | None
    wait_ms: int | None
    run_ms: int | None
    size: int | None
    worker: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvents:
    """In order of time. `is_whole`: all hours up to the job's end, or to now, were looked through. `damaged`: files
    that were met and left out."""

    events: tuple[JobEvent, ...]
    is_whole: bool
    damaged: tuple[DamagedFile, ...] = ()


class _BudgetUsedUpError(Exception):
    """Enough has been read."""


class _Search:
    """One search, and what it may still read."""

    def __init__(
        self, url: str, names: dict[str, str], partition: int, clock: Callable[[], float], seconds: float
    ) -> None:
        self.storage = Storage(url)
        self.names = names
        self._partition = partition
        self._pool_in_name = pool_in_name(names["pool"])
        self._clock = clock
        self._ends = clock() + seconds
        self._files = FILES_MAX
        self._bytes = BYTES_MAX
        self.damaged: dict[str, DamagedFile] = {}

    def read(self, folder: str) -> Iterator[JobEvent]:
        """The job's events of an hour. Raises _BudgetUsedUpError, LakeError."""
        self.spend()
        files = read_hour(self.storage, folder)
        for name in self._candidates(files):
            self.spend(files=1)
            try:
                yield from self._read_file(f"{folder}/{name}")
            except DamagedFileError as error:
                self.damaged[error.file.url] = error.file

    def _candidates(self, files: HourFiles) -> Iterator[str]:
        for name in files.live:
            drained = parse_drained(name)
            if drained is None or (drained.pool, drained.partition) == (self._pool_in_name, self._partition):
                yield name

    def spend(self, *, files: int = 0, size: int = 0) -> None:
        """Raises _BudgetUsedUpError."""
        self._files -= files
        self._bytes -= size
        if self._files < 0 or self._bytes < 0 or self._clock() > self._ends:
            raise _BudgetUsedUpError

    def _read_file(self, path: str) -> Iterator[JobEvent]:
        """Raises DamagedFileError."""
        import pyarrow.parquet as pq  # here, as in `files`

        try:
            with self.storage.open(path, "rb") as file:
                metadata = footer_of(self.storage, path, file).metadata
                groups = [
                    group for group in range(metadata.num_row_groups) if self._may_have(metadata.row_group(group))
                ]
                if not groups:
                    return
                parquet = pq.ParquetFile(file, page_checksum_verification=True)
                for group in groups:
                    self.spend(size=_size_of(metadata.row_group(group)))
                    yield from self._matching(parquet.read_row_group(group, columns=list(_COLUMNS), use_threads=False))
        except (FileNotFoundError, DamagedFileError, _BudgetUsedUpError):
            raise
        except Exception as error:  # pyarrow's errors share no base class
            raise DamagedFileError(self.storage.url(path), f"is damaged: {error}") from error

    def _may_have(self, group: Any) -> bool:
        """Whether its statistics leave it open that it has events of the job."""
        for index in range(group.num_columns):
            column = group.column(index)
            wanted = self.names.get(column.path_in_schema)
            statistics = column.statistics if wanted is not None else None
            if (
                statistics is not None
                and statistics.has_min_max
                and isinstance(statistics.min, str)
                and not str(statistics.min) <= str(wanted) <= str(statistics.max)
            ):
                return False
        return True

    def _matching(self, table: Any) -> Iterator[JobEvent]:
        import pyarrow.compute as pc

        for name in reversed(_NAMES):
            table = table.filter(pc.equal(table[name], self.names[name]))
        for row in table.to_pylist():
            yield JobEvent(
                kind=row["kind"],
                at_ms=round(row["at"].timestamp() * 1000),
                attempt=row["attempt"],
                wait_ms=row["wait_ms"],
                run_ms=row["run_ms"],
                size=row["size"],
                worker=row["worker"] or "",
                error=row["error"] or "",
            )


def _size_of(group: Any) -> int:
    columns = (group.column(index) for index in range(group.num_columns))
    return sum(column.total_uncompressed_size for column in columns if column.path_in_schema in _COLUMNS)


def find_job_events(
    url: str,
    *,
    pool: str,
    namespace: str,
    queue: str,
    partition: int,
    job_id: str,
    published_ms: int,
    now_ms: int,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = SECONDS_MAX,
) -> JobEvents:
    """The events that the lake has of a job. `partition`: its queue's. Raises LakeError if it cannot be read at all."""
    names = dict(zip(_NAMES, (pool, namespace, queue, job_id), strict=True))
    search = _Search(url, names, partition, clock, seconds)
    found: list[JobEvent] = []
    is_whole = True
    try:
        for folder in _folders(search.storage, published_ms, now_ms):
            for _ in range(2):
                try:
                    events = list(search.read(folder))
                    break
                except FileNotFoundError:  # compaction has taken a file meanwhile
                    continue
            else:
                raise LakeError(f"{search.storage.url(folder)}: files come and go")
            found += events
            if any(event.kind in ENDS for event in events):
                break
        else:
            is_whole = now_ms - published_ms < HOURS_MAX * HOUR_MS
    except _BudgetUsedUpError:
        is_whole = False
    order = sorted(found, key=lambda event: (event.at_ms, event.attempt or 0, _RANKS.get(event.kind, 5)))
    damaged = tuple(search.damaged.values())
    return JobEvents(events=tuple(order), is_whole=is_whole and not damaged, damaged=damaged)


_RANKS: Final = {"published": 0, "respawned": 1, "ready": 2, "consumed": 3, "dead": 8, "deleted": 9, "purged": 9}
"""Of events of the same millisecond and attempt."""


def _folders(storage: Storage, published_ms: int, now_ms: int) -> Iterator[str]:
    """The directories of the hours that are there, from the publish on. Raises LakeError."""
    first_ms = published_ms // HOUR_MS * HOUR_MS
    last_ms = min(now_ms, first_ms + (HOURS_MAX - 1) * HOUR_MS)
    if not 0 <= first_ms <= last_ms:
        return
    deleted = deleted_days(storage)
    first, last = hour_dir(first_ms), hour_dir(last_ms)
    day, end = _day_of(first_ms), _day_of(last_ms)
    while day <= end:
        if day not in deleted:
            yield from (folder for folder in hour_folders(storage, day) if first <= folder <= last)
        day += timedelta(days=1)


def _day_of(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()
