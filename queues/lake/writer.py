"""Writes drained events: a file for each hour that they belong to, under a name that says which entries it holds.

The same entries make the same files, and a file that is there is never replaced: so it does not matter how often, nor
by how many at once, they are written.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .deletion import deleted_days, note_late_events
from .files import Gap, HourFiles, count_rows, read_hour
from .footers import SealingFile
from .lines import Entries, hours, parse_entries
from .names import GAPS, HOUR_MS, STALE_S, DrainedName, EntryId, day_of, gap_name, hour_dir, is_temporary
from .schema import VERSION, VERSION_KEY, arrow_schema
from .storage import Storage

logger = logging.getLogger(__name__)

MALFORMED_SHOWN: Final = 3

YOUNG: Final = timedelta(days=1)
"""Days that are no older are never deleted, so that what is drained in time costs no look."""

ENCODED: Final = ("pool", "namespace", "queue", "kind", "worker", "error")
"""Columns that files have as dictionaries. One of job ids would be as long as the column."""

PARQUET: Final = {
    "compression": "zstd",
    "use_dictionary": [*ENCODED],
    "write_statistics": True,
    "write_page_checksum": True,
}
"""How files are written. Readers verify the checksums."""


@contextmanager
def parquet_writer(file: Any, schema: Any = None) -> Iterator[pq.ParquetWriter]:
    """Write tables into an open file; at the end of the block it gets its seal and its footer.

    `schema`: a `pyarrow.Schema`; None: that of events.
    """
    sink = SealingFile(file)
    schema = (schema or arrow_schema()).with_metadata({VERSION_KEY: str(VERSION)})
    with pq.ParquetWriter(sink, schema, **PARQUET) as writer:
        yield writer
        sink.begin_footer()
    sink.finish()


def parquet_bytes(table: Any) -> memoryview:
    """A file of the lake with the rows of a `pyarrow.Table`."""
    file = io.BytesIO()
    with parquet_writer(file, table.schema) as writer:
        writer.write_table(table)
    return file.getbuffer()


class Writer:
    """Writes the events of one pool."""

    def __init__(self, url: str, pool: str) -> None:
        self.storage = Storage(url)
        self.pool = pool

    def leading_run(self, name: DrainedName, entries: Entries) -> tuple[int, bool]:
        """How many of the first entries are alike in whether they are in the lake, under another name than `name`.

        That is so if Redis was set back to a time before they were taken out of the stream. Raises LakeError.
        """
        folders = list(hours(entries.times))
        ranges = {folder: self._ranges(folder, name) for folder in set(folders)}
        if not any(ranges.values()):
            return len(folders), False
        is_there = [_is_within(entry, ranges[folder]) for entry, folder in zip(entries.ids, folders, strict=True)]
        run = next((index for index, one in enumerate(is_there) if one != is_there[0]), len(is_there))
        return run, is_there[0]

    def write(self, name: DrainedName, entries: Entries) -> int:
        """Put the entries' events into the lake. How many of them are there then. Raises LakeError."""
        parsed = parse_entries(self.pool, name.partition, entries)
        if parsed.malformed:
            logger.warning(
                "events that cannot be read are left out",
                extra={
                    "action": "events_malformed",
                    "pool": self.pool,
                    "partition": name.partition,
                    "lines": len(parsed.malformed),
                    "first_lines": " | ".join(parsed.malformed[:MALFORMED_SHOWN]),
                },
            )
        return len(parsed.malformed) + sum(
            self._put_events(folder, name, table) for folder, table in _by_hour(parsed.table)
        )

    def write_gap(self, gap: Gap) -> None:
        """Note that events were dropped. Repeatable. Raises LakeError."""
        name = gap_name(gap.pool, gap.partition, gap.from_ms, gap.until_ms)
        self.storage.put(f"{GAPS}/{name}", json.dumps(asdict(gap)).encode())

    def _ranges(self, folder: str, name: DrainedName) -> list[tuple[EntryId, EntryId]]:
        files = read_hour(self.storage, folder) if folder else HourFiles((), {})
        remove_stale(self.storage, folder, files)
        ranges = files.ranges(name.pool, name.partition)
        own = (name.first, name.last)
        return [range_ for range_ in ranges if range_ != own and range_[0] <= name.last and name.first <= range_[1]]

    def _put_events(self, folder: str, name: DrainedName, table: Any) -> int:
        """Those of an hour, unless its day was deleted: they come too late. How many have been dealt with."""
        day = day_of(folder.partition("/")[0])
        if day is None or day >= datetime.now(UTC).date() - YOUNG or day not in deleted_days(self.storage):
            return self._put(f"{folder}/{name}", table)
        note_late_events(self.storage, day, str(name), table.num_rows)
        logger.warning(
            "events of a day that was deleted are left out",
            extra={
                "action": "events_too_late",
                "pool": self.pool,
                "partition": name.partition,
                "day": str(day),
                "events": table.num_rows,
            },
        )
        return int(table.num_rows)

    def _put(self, path: str, table: Any) -> int:
        """The rows of the file that is there then."""
        if self.storage.put(path, parquet_bytes(table)):
            return int(table.num_rows)
        try:
            return count_rows(self.storage, path)
        except FileNotFoundError:  # compaction has taken it meanwhile
            return int(table.num_rows)


def remove_stale(storage: Storage, folder: str, files: HourFiles) -> None:
    """Delete what processes that died while writing have left behind."""
    for entry in files.entries.values():
        if is_temporary(entry.name) and entry.age_s is not None and entry.age_s > STALE_S:
            storage.delete(f"{folder}/{entry.name}")


def _by_hour(table: Any) -> Iterable[tuple[str, Any]]:
    """Nearly always one."""
    if not table.num_rows:
        return
    numbers = pc.divide(table["at"].cast(pa.int64()), HOUR_MS)
    found = pc.unique(numbers).to_pylist()
    for hour in sorted(found):
        part = table if len(found) == 1 else table.filter(pc.equal(numbers, hour))
        yield hour_dir(hour * HOUR_MS), part


def _is_within(entry: bytes, ranges: list[tuple[EntryId, EntryId]]) -> bool:
    entry_id = EntryId.parse(entry.decode())
    return any(first <= entry_id <= last for first, last in ranges)
