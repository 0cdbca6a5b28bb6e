"""Which files of the lake count, what a day has, and how a file is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple

from .deletion import deleted_days
from .footers import DamagedFooterError, Footer, read_footer
from .names import (
    DELETED,
    GAPS,
    EntryId,
    Stream,
    day_dir,
    day_of,
    is_compacted,
    is_data,
    manifest_name,
    manifest_of,
    parse_drained,
    parse_gap,
)
from .ranges import Ranges, by_stream, within_others
from .schema import VERSION, arrow_schema, completed, problem_of
from .storage import Entry, LakeError, Storage

READERS: Final = 16
"""Footers that are read at a time."""

READ_TRIES: Final = 5
"""How often a directory is looked at whose files are being compacted just then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFile:
    """A file that counts. `url` with its scheme; `size` in bytes; `rows`: events, as its footer says. `pool`: that
    of all its events, as file names have it; None: names do not tell, it has events of several or is no drain's."""

    url: str
    size: int
    rows: int
    pool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Events that were dropped because no drain took them in time: at most so many, between two times in ms.

    `from_ms` None: nobody knows since when.
    """

    pool: str
    partition: int
    dropped: int
    from_ms: int | None
    until_ms: int


class DamagedFile(NamedTuple):
    """A file that cannot be read, and why. `rows`: events that it had, None if that is not known."""

    url: str
    reason: str
    rows: int | None = None


class DamagedFileError(LakeError):
    """A file of the lake is not as it was written, or none of ours. `rows`: as in DamagedFile."""

    def __init__(self, url: str, reason: str, rows: int | None = None) -> None:
        super().__init__(f"{url}: {reason}")
        self.file = DamagedFile(url, reason, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFiles:
    """What the lake has of a UTC day. What is in `corrupt` is in neither `live` nor `gaps`.

    `covered`: by the URL of an hour's directory, `HourFiles.covered`.
    """

    live: tuple[LakeFile, ...]
    corrupt: tuple[DamagedFile, ...]
    gaps: tuple[Gap, ...]
    covered: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Events that can be read."""
        return sum(file.rows for file in self.live)

    @property
    def written(self) -> dict[Stream, EntryId]:
        """Up to which entry drains have written each stream: they do it in the order of entries."""
        found: dict[Stream, EntryId] = {}
        for name in frozenset().union(*self.covered.values()):
            if range_ := parse_drained(name):
                found[range_.stream] = max(range_.last, found.get(range_.stream, range_.last))
        return found


class HourFiles:
    """What is in one hour's directory, and which of it counts.

    `sources`: names that a manifest lists, by the compacted file that holds their rows. `live`: names of files that
    count. `missing`: compacted files that a manifest speaks of and that are not there.
    """

    def __init__(self, entries: Iterable[Entry], manifests: Mapping[str, frozenset[str]]) -> None:
        self.entries = {entry.name: entry for entry in entries if not entry.is_dir}
        # A compaction that slept while another one took its files and more has made what no longer counts.
        self.sources = {
            name: sources
            for name, sources in manifests.items()
            if not any(sources < others or name in others for others in manifests.values())
        }
        self.taken: frozenset[str] = frozenset().union(*manifests.values())
        self.missing = sorted(name for name in self.sources if name not in self.entries)

    @cached_property
    def live(self) -> list[str]:
        """Looked for when it is asked for: a drain, which may write thousands of files in an hour, need not know."""
        return sorted(self._live())

    def _live(self) -> Iterator[str]:
        there = {name: range_ for name in self.entries if (range_ := parse_drained(name))}
        covered = within_others(there.values())
        merged = [range_ for name in self.taken if (range_ := parse_drained(name))]
        taken = {stream: Ranges(ranges) for stream, ranges in by_stream(merged).items()}
        for name in self.entries:
            if not is_data(name) or name in self.taken:
                continue
            if is_compacted(name):
                if name in self.sources:
                    yield name
                continue
            if (range_ := there.get(name)) is None:  # of somebody else's making
                yield name
                continue
            # Ranges do not overlap, unless one of the drains had a plan that Redis has forgotten (docs/lake.md).
            of_stream = taken.get(range_.stream)
            if range_ not in covered and not (of_stream and of_stream.overlap(range_)):
                yield name

    @property
    def covered(self) -> frozenset[str]:
        """Names of the files whose events count, compacted or not: what compaction has made is named by its sources."""
        merged = (self.sources.get(name, frozenset()) for name in self.live)
        return frozenset(name for name in {*self.live, *frozenset().union(*merged)} if not is_compacted(name))

    def pool_of(self, name: str) -> str | None:
        """The only pool of whose events a file is, as file names have it; None: there are several, or no name tells."""
        merged = self.sources.get(name, frozenset([name]))
        drained = [parse_drained(source) for source in merged if not is_compacted(source)]
        pools = {one.pool if one else None for one in drained}
        return next(iter(pools)) if len(pools) == 1 else None

    def ranges(self, pool: str, partition: int) -> list[tuple[EntryId, EntryId]]:
        """Which entries of a stream have been written here, also those that compaction has taken since."""
        names = (parse_drained(name) for name in {*self.entries, *self.taken})
        return sorted(
            (name.first, name.last) for name in names if name and (name.pool, name.partition) == (pool, partition)
        )


def read_hour(storage: Storage, folder: str) -> HourFiles:
    """The files of one directory. Raises LakeError."""
    for _ in range(READ_TRIES):
        entries = storage.list(folder)
        manifests: dict[str, frozenset[str]] = {}
        try:
            for entry in entries:
                compacted = manifest_of(entry.name)
                if compacted is not None:
                    manifests[compacted] = _sources(storage, f"{folder}/{entry.name}")
        except FileNotFoundError:  # a newer one has just replaced it
            continue
        return HourFiles(entries, manifests)
    raise LakeError(f"{storage.url(folder)}: files come and go")


SealCheck = Callable[[Mapping[str, Entry]], Mapping[str, int]]
"""Says of these files, by URL, how many events those have that are as they were written."""


def read_day(url: str, day: date, *, check_seals: SealCheck | None = None) -> DayFiles:
    """What counts of a UTC day, each file's footer checked: here, unless `check_seals` says that the file is sound.
    Nothing if the day was deleted.

    Raises LakeError if the lake cannot be read at all.
    """
    storage = Storage(url)
    if day in deleted_days(storage):
        return DayFiles(live=(), corrupt=(), gaps=())
    live: list[LakeFile] = []
    corrupt: list[DamagedFile] = []
    covered: dict[str, frozenset[str]] = {}
    folders = hour_folders(storage, day)
    known = check_seals(_live_files(storage, folders)) if check_seals else {}
    with ThreadPoolExecutor(READERS) as threads:
        for folder in folders:
            hour, checked = _check_hour(storage, folder, threads, known)
            covered[storage.url(folder)] = hour.covered
            for file in checked:
                if isinstance(file, LakeFile):
                    live.append(file)
                else:
                    corrupt.append(file)
    gaps: list[Gap] = []
    for gap in _gaps(storage, day):
        if isinstance(gap, Gap):
            gaps.append(gap)
        else:
            corrupt.append(gap)
    return DayFiles(live=tuple(live), corrupt=tuple(corrupt), gaps=tuple(gaps), covered=covered)


def _live_files(storage: Storage, folders: Iterable[str]) -> dict[str, Entry]:
    """By URL."""
    hours = ((folder, read_hour(storage, folder)) for folder in folders)
    return {storage.url(f"{folder}/{name}"): files.entries[name] for folder, files in hours for name in files.live}


def _check_hour(
    storage: Storage, folder: str, threads: ThreadPoolExecutor, known: Mapping[str, int]
) -> tuple[HourFiles, list[LakeFile | DamagedFile]]:
    """The files of an hour, and those that count or what is wrong with them. Tried again if one goes away meanwhile."""
    for tries_left in reversed(range(READ_TRIES)):
        files = read_hour(storage, folder)
        entries = [files.entries[name] for name in files.live]
        pools = [files.pool_of(entry.name) for entry in entries]
        checked = list(threads.map(lambda entry, pool: _check(storage, folder, entry, pool, known), entries, pools))
        if None not in checked or not tries_left:
            break
    missing = [*files.missing, *(entry.name for entry, file in zip(entries, checked, strict=True) if file is None)]
    sound = [file for file in checked if file is not None]
    return files, [*sound, *(_missing(storage, folder, name) for name in missing)]


def _missing(storage: Storage, folder: str, name: str) -> DamagedFile:
    """A file that is gone, with the number of events that its manifest says, if it has one."""
    rows = None
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        rows = int(json.loads(storage.read(f"{folder}/{manifest_name(name)}"))["rows"])
    return DamagedFile(storage.url(f"{folder}/{name}"), "is missing", rows)


def list_days(url: str) -> list[date]:
    """Days that a lake, or reports, below `url` have something of, the earliest first; none that were deleted.

    Raises LakeError.
    """
    storage = Storage(url)
    names = [entry.name for entry in storage.list("") if entry.is_dir]
    deleted = deleted_days(storage) if DELETED in names else frozenset()
    return sorted(day for day in map(day_of, names) if day is not None and day not in deleted)


def hour_folders(storage: Storage, day: date) -> list[str]:
    """The directories of a day's hours that exist, in order."""
    folder = day_dir(day)
    return [
        f"{folder}/{entry.name}" for entry in storage.list(folder) if entry.is_dir and entry.name.startswith("hour=")
    ]


def count_rows(storage: Storage, path: str) -> int:
    """The events in a file, by its footer. Raises DamagedFileError if it is no file of ours, FileNotFoundError."""
    with storage.open(path, "rb") as file:
        return footer_of(storage, path, file).rows


def read_rewritable(storage: Storage, path: str) -> Footer | None:
    """Its footer; None if a newer version wrote the file, so that this taskq may not know all its columns. Raises the
    same."""
    with storage.open(path, "rb") as file:
        footer = footer_of(storage, path, file)
        return footer if (footer.version or 0) <= VERSION else None


def read_batches(
    storage: Storage, path: str, *, rows: int, footer: Footer | None = None, encoded: tuple[str, ...] = ()
) -> Iterator[Any]:
    """The events in a file, so many at a time, with the newest version's columns, each page's checksum verified.

    `footer`: if it has been read. `encoded`: columns of text that come as dictionaries (`encoded_schema`), which is
    faster where texts are few. Raises DamagedFileError, FileNotFoundError.
    """
    import pyarrow.parquet as pq  # here: processes that do not read files do without its time and memory

    with storage.open(path, "rb") as file:
        footer = footer or footer_of(storage, path, file)
        left = whole = footer.rows
        try:
            parquet = pq.ParquetFile(
                file,
                metadata=footer.metadata,
                read_dictionary=[*encoded],
                # One read for all columns: of small files that is faster, of large ones it would hold the whole file.
                pre_buffer=footer.metadata.num_row_groups == 1,
                page_checksum_verification=True,
            )
            there = parquet.schema_arrow.names
            columns = [name for name in arrow_schema().names if name in there]
            for batch in parquet.iter_batches(batch_size=rows, columns=columns):
                left -= len(batch)
                yield completed(batch, encoded)
        except Exception as error:  # pyarrow's errors share no base class of their own
            reason = f"is damaged: {' '.join(str(error).split())}"
            raise DamagedFileError(storage.url(path), reason, whole) from error
        if left:
            raise DamagedFileError(storage.url(path), f"is damaged: {left} of its rows cannot be read", whole)


def footer_of(storage: Storage, path: str, file: Any) -> Footer:
    """Of a file with events. Raises DamagedFileError."""
    try:
        footer = read_footer(file)
        schema = footer.metadata.schema.to_arrow_schema()
    except FileNotFoundError:
        raise
    except DamagedFooterError as error:
        raise DamagedFileError(storage.url(path), str(error), error.rows) from error
    except Exception as error:  # of a file system, or pyarrow's, which share no base class
        raise DamagedFileError(storage.url(path), f"not readable as Parquet: {error}") from error
    if (problem := problem_of(schema, version=footer.version)) is not None:
        raise DamagedFileError(storage.url(path), problem, footer.rows)
    return footer


def _check(
    storage: Storage, folder: str, entry: Entry, pool: str | None, known: Mapping[str, int]
) -> LakeFile | DamagedFile | None:
    """A file, or what is wrong with it; None: it is gone."""
    path = f"{folder}/{entry.name}"
    url = storage.url(path)
    if (rows := known.get(url)) is not None:
        return LakeFile(url=url, size=entry.size, rows=rows, pool=pool)
    try:
        return LakeFile(url=url, size=entry.size, rows=count_rows(storage, path), pool=pool)
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        return error.file
    except LakeError as error:
        return DamagedFile(url, str(error).removeprefix(f"{url}: "))


def _sources(storage: Storage, path: str) -> frozenset[str]:
    content = storage.read(path)
    try:
        return frozenset(json.loads(content)["sources"])
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(f"{storage.url(path)}: not a manifest: {error}") from error


def _gaps(storage: Storage, day: date) -> Iterator[Gap | DamagedFile]:
    """The gaps that touch a day, or what is wrong with one.

    One whose beginning nobody knows counts for the day of its end.
    """
    begins = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    ends = begins + int(timedelta(days=1).total_seconds() * 1000)
    for entry in storage.list(GAPS):
        span = parse_gap(entry.name)
        if span is None:
            continue
        from_ms, until_ms = span
        if until_ms >= begins and (until_ms if from_ms is None else from_ms) < ends:
            yield _gap(storage, f"{GAPS}/{entry.name}")


def _gap(storage: Storage, path: str) -> Gap | DamagedFile:
    content = storage.read(path)
    try:
        fields: dict[str, Any] = json.loads(content)
        return Gap(**fields)
    except (ValueError, TypeError) as error:
        return DamagedFile(storage.url(path), f"is not a gap: {error}", 0)
