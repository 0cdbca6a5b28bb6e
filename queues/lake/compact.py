"""Compaction: one file of the many small ones of an hour, sorted so that a reader of one queue skips the rest.

The atomic step is a manifest that comes into place: from then on the compacted file counts, and what the manifest names
does not, even if it turns up later. A crash before it leaves an unfinished or uncounted file; one after it, files that
count no more. The next compaction deletes either.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from operator import add
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from .files import (
    DamagedFileError,
    HourFiles,
    count_rows,
    hour_folders,
    read_batches,
    read_hour,
    read_rewritable,
)
from .fingerprints import hour_of
from .footers import Footer
from .names import STALE_S, compacted_name, is_compacted, is_data, manifest_name, manifest_of, temporary_name
from .schema import arrow_schema
from .storage import LakeError, Storage
from .writer import ENCODED, parquet_writer, remove_stale

NAMES: Final = ("pool", "namespace", "queue", "kind")
"""Rows are sorted by these columns of text, then by `at`."""

PORTION_ROWS: Final = 1_000_000
"""So many rows are in memory and sorted at a time (some 300 MB). In an hour that has more, each portion is sorted."""

HOURS_AT_ONCE: Final = min(os.cpu_count() or 1, 2)
"""So many hours are merged side by side, each with its portion."""

NEWER: Final = "was written by a newer version of taskq and is left as it is"

GROUP_ROWS: Final = 131_072
"""Rows that a reader reads or skips together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCounts:
    """What a compaction did: hours whose files were merged, files before and after, their events and bytes.

    `problems`: URL of a file that could not be read and was left alone, and why.
    """

    hours: int = 0
    files_before: int = 0
    files_after: int = 0
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    problems: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: CompactionCounts) -> CompactionCounts:
        return CompactionCounts(
            **{name: add(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__}
        )


def compact_day(
    url: str, day: date, *, hours: Collection[int] | None = None, stop: threading.Event | None = None
) -> CompactionCounts:
    """Merge the files of each hour of a UTC day, or of these `hours`. Repeatable; may be killed at any point. Once
    `stop` is set, hours that were not begun are left as they are. Raises LakeError.

    To be called when nobody reads the day: what was merged is deleted.
    """
    storage = Storage(url)
    wanted = [folder for folder in hour_folders(storage, day) if hours is None or hour_of(folder) in hours]
    with ThreadPoolExecutor(HOURS_AT_ONCE, thread_name_prefix="compact") as threads:
        return sum(threads.map(partial(_compact_hour, storage, stop), wanted), CompactionCounts())


def _compact_hour(storage: Storage, stop: threading.Event | None, folder: str) -> CompactionCounts:
    if stop is not None and stop.is_set():
        return CompactionCounts()
    files = read_hour(storage, folder)
    remove_stale(storage, folder, files)
    _remove_taken(storage, folder, files)
    problems: list[tuple[str, str]] = []
    footers: dict[str, Footer] = {}
    for name in files.live:
        try:
            if (footer := read_rewritable(storage, f"{folder}/{name}")) is None:
                problems.append((storage.url(f"{folder}/{name}"), NEWER))
            else:
                footers[name] = footer
        except (LakeError, FileNotFoundError) as error:
            url = storage.url(f"{folder}/{name}")
            problems.append((url, str(error).removeprefix(f"{url}: ")))
    while len(footers) >= 2:
        # What earlier compactions have taken must not count either when it turns up: the old manifests will be gone.
        compacted = compacted_name({*footers, *files.taken})
        try:
            size = _merge(storage, folder, compacted, footers)
            break
        except FileNotFoundError:  # another compaction was faster
            return CompactionCounts(problems=tuple(problems))
        except DamagedFileError as error:  # the others are merged without it
            name = error.file.url.rpartition("/")[2]
            problems.append((error.file.url, error.file.reason))
            if footers.pop(name, None) is None:  # the merged file itself
                return CompactionCounts(problems=tuple(problems))
        except LakeError as error:
            problems.append((storage.url(folder), str(error)))
            return CompactionCounts(problems=tuple(problems))
    else:
        return CompactionCounts(problems=tuple(problems))
    rows = sum(footer.rows for footer in footers.values())
    content = {"sources": sorted({*footers, *files.taken}), "rows": rows}
    storage.put(f"{folder}/{manifest_name(compacted)}", json.dumps(content).encode())
    _remove_taken(storage, folder, read_hour(storage, folder))
    return CompactionCounts(
        hours=1,
        files_before=len(footers),
        files_after=1,
        rows=rows,
        bytes_before=sum(files.entries[name].size for name in footers),
        bytes_after=size,
        problems=tuple(problems),
    )


def _merge(storage: Storage, folder: str, compacted: str, footers: Mapping[str, Footer]) -> int:
    """Put a file with the rows of all these into place. Its size. Raises LakeError, FileNotFoundError."""
    temporary = f"{folder}/{temporary_name(compacted)}"
    try:
        _write(storage, temporary, {f"{folder}/{name}": footer for name, footer in footers.items()})
        rows = sum(footer.rows for footer in footers.values())
        if (found := count_rows(storage, temporary)) != rows:
            raise LakeError(f"{storage.url(folder)}: merging {rows} events made {found}")
    except BaseException:
        storage.forget(temporary)
        raise
    storage.put_written(f"{folder}/{compacted}", temporary)
    return next(entry.size for entry in storage.list(folder) if entry.name == compacted)


def _write(storage: Storage, path: str, sources: Mapping[str, Footer]) -> None:
    """Raises LakeError, FileNotFoundError."""
    try:
        with storage.open(path, "wb") as file, parquet_writer(file) as writer:
            for portion in _portions(storage, sources):
                rows = portion.take(_order_of(portion)).cast(arrow_schema())
                writer.write_table(rows, row_group_size=GROUP_ROWS)
    except (LakeError, FileNotFoundError):
        raise
    except Exception as error:  # of a file system, or of pyarrow, whose errors share no base class
        raise LakeError(f"{storage.url(path)}: {error}") from error


def _order_of(table: Any) -> Any:
    """The numbers of the rows, sorted by NAMES and `at`. Texts are few: each is compared once, and rows by numbers."""
    columns = {name: _ranks(table[name]) for name in NAMES} | {"at": table["at"].cast(pa.int64())}
    return pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])


def _ranks(column: Any) -> Any:
    """The place of each text among all of the column."""
    encoded = column.combine_chunks()
    return pc.rank(encoded.dictionary, sort_keys="ascending", tiebreaker="dense").take(encoded.indices)


def _portions(storage: Storage, sources: Mapping[str, Footer]) -> Iterator[Any]:
    """All rows of the sources, in tables of at most PORTION_ROWS, and a batch; texts as dictionaries, one for each
    column, so that sorting moves numbers."""
    batches: list[Any] = []
    for path, footer in sources.items():
        for batch in read_batches(storage, path, rows=GROUP_ROWS, footer=footer, encoded=ENCODED):
            batches.append(batch)
            if sum(len(kept) for kept in batches) >= PORTION_ROWS:
                yield pa.Table.from_batches(batches).unify_dictionaries()
                batches = []
    if batches:
        yield pa.Table.from_batches(batches).unify_dictionaries()


def _remove_taken(storage: Storage, folder: str, files: HourFiles) -> None:
    """Delete what counts no more because of a manifest, then the manifests that a newer one has replaced.

    A compacted file without a manifest may be about to get it, unless it is old.
    """
    for name, entry in files.entries.items():
        is_old = entry.age_s is not None and entry.age_s > STALE_S
        has_manifest = manifest_name(name) in files.entries
        if is_compacted(name) and name not in files.taken and name not in files.sources:
            if has_manifest or is_old:
                storage.delete(f"{folder}/{name}")
        elif name in files.taken and is_data(name):
            storage.delete(f"{folder}/{name}")
    for name in files.entries:
        compacted = manifest_of(name)
        if compacted is not None and compacted not in files.sources:
            storage.delete(f"{folder}/{name}")
