"""Names in the lake.

    LAKE/date=2026-11-21/hour=16/POOL-pNNNN-FIRST-LAST.parquet    what a drain wrote: entries FIRST to LAST of a stream
    LAKE/date=2026-11-21/hour=16/compact-DIGEST.parquet           what compaction made of several files
    LAKE/date=2026-11-21/hour=16/_compact-DIGEST.json             its manifest: without it, it does not count
    LAKE/_gaps/POOL-pNNNN-FROM-UNTIL.json                         events that were dropped before a drain took them
    LAKE/_counts/date=2026-11-21/POOL-h16.parquet                 Redis's own counts of jobs (`counts`)
    LAKE/_appended/date=2026-11-21/POOL.json                      Redis's own count of a day's events (`appended`)
    LAKE/_deleted/date=2026-11-21.json                            the day was deleted (`deletion`)

A name that begins with `_` or `.` is never data, for Spark, DuckDB and us alike.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
TIMES_END_MS: Final = 253_402_300_800_000
"""The year 10000, which no directory's name can say."""

DATE: Final = "date="
SUFFIX: Final = ".parquet"
GAPS: Final = "_gaps"
DELETED: Final = "_deleted"
TEMPORARY: Final = ".tmp-"
STALE_S: Final = 86_400
"""When an unfinished file is older, its writer has died."""

POOL_MAX: Final = 100
"""Longer pool names, which would make file names too long, are abbreviated by their digest."""

_ID = r"\d{15}_\d{10,19}"
_DRAINED = re.compile(rf"(?P<pool>.+)-p(?P<partition>\d{{4}})-(?P<first>{_ID})-(?P<last>{_ID})\.parquet\Z")
_COMPACTED = re.compile(r"compact-[0-9a-f]{20}\.parquet\Z")
_MANIFEST = re.compile(r"_(compact-[0-9a-f]{20})\.json\Z")
_GAP = re.compile(r".+-p\d{4}-(?P<after>\d{15})-(?P<until>\d{15})\.json\Z")


class EntryId(NamedTuple):
    """Id of a stream entry. Redis writes `ms-seq`."""

    ms: int
    seq: int

    def __str__(self) -> str:
        return f"{self.ms}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> EntryId:
        """From Redis's writing, or from that in a name. Raises ValueError."""
        ms, seq = re.split("[-_]", text)
        return cls(int(ms), int(seq))

    def in_name(self) -> str:
        """With zeros in front, so that names sort as ids do."""
        return f"{self.ms:015d}_{self.seq:010d}"


class Stream(NamedTuple):
    """Of a partition. `pool` as `pool_in_name` writes it."""

    pool: str
    partition: int


class DrainedName(NamedTuple):
    """What the name of a drained file says. `pool` as `pool_in_name` writes it."""

    pool: str
    partition: int
    first: EntryId
    last: EntryId

    def __str__(self) -> str:
        stem = f"{self.pool}-p{self.partition:04d}"
        return f"{stem}-{self.first.in_name()}-{self.last.in_name()}{SUFFIX}"

    @property
    def stream(self) -> Stream:
        """Where the entries came from."""
        return Stream(self.pool, self.partition)


def pool_in_name(pool: str) -> str:
    """A pool's name as the names of files have it."""
    if pool.startswith("_") or len(pool) > POOL_MAX:
        return f"pool{hashlib.sha256(pool.encode()).hexdigest()[:24]}"
    return pool


def drained_name(pool: str, partition: int, first: EntryId, last: EntryId) -> DrainedName:
    """The name of the files that hold entries `first` to `last` of a stream."""
    return DrainedName(pool_in_name(pool), partition, first, last)


@lru_cache(maxsize=16_384)  # of an hour at full speed, whose names a drain looks at whenever it writes
def parse_drained(name: str) -> DrainedName | None:
    """None: no drain wrote it."""
    found = _DRAINED.match(name)
    if found is None:
        return None
    first, last = EntryId.parse(found["first"]), EntryId.parse(found["last"])
    return DrainedName(found["pool"], int(found["partition"]), first, last)


def is_data(name: str) -> bool:
    """Whether a file of that name may hold events."""
    return name.endswith(SUFFIX) and name[0] not in "_."


def is_compacted(name: str) -> bool:
    """Whether it counts only together with its manifest."""
    return _COMPACTED.match(name) is not None


def is_temporary(name: str) -> bool:
    """Whether it is the unfinished file of a process that writes, or died."""
    return name.startswith(".") and TEMPORARY in name


def compacted_name(sources: Iterable[str]) -> str:
    """The name of what compaction makes of these files: of the same ones the same name."""
    digest = hashlib.sha256("\n".join(sorted(sources)).encode()).hexdigest()[:20]
    return f"compact-{digest}{SUFFIX}"


def manifest_name(compacted: str) -> str:
    """The manifest of a compacted file."""
    return f"_{compacted.removesuffix(SUFFIX)}.json"


def manifest_of(name: str) -> str | None:
    """The compacted file whose manifest has this name; None: it is no manifest."""
    found = _MANIFEST.match(name)
    return None if found is None else found[1] + SUFFIX


def temporary_name(name: str) -> str:
    """A name under which `name` may be written until it is finished; each time another."""
    return f".{name}{TEMPORARY}{secrets.token_hex(6)}"


def day_dir(day: date) -> str:
    """Where the events of a UTC day are, below the lake."""
    return f"{DATE}{day.isoformat()}"


def day_of(name: str) -> date | None:
    """The day of which a directory holds something; None: it is no directory of a day."""
    try:
        day = date.fromisoformat(name.removeprefix(DATE))
    except ValueError:
        return None
    return day if name == day_dir(day) else None


def hour_dir(at_ms: int) -> str:
    """Where an event of that time belongs, below the lake. Raises ValueError beyond TIMES_END_MS and before 1970."""
    if not 0 <= at_ms < TIMES_END_MS:
        raise ValueError(f"no such time: {at_ms} ms")
    at = datetime.fromtimestamp(at_ms // HOUR_MS * HOUR_MS / 1000, tz=UTC)
    return f"{day_dir(at.date())}/hour={at.hour:02d}"


def gap_name(pool: str, partition: int, after_ms: int | None, until_ms: int) -> str:
    """The name of a gap; `after_ms` None (nobody knows since when) is written as 0."""
    return f"{pool_in_name(pool)}-p{partition:04d}-{after_ms or 0:015d}-{until_ms:015d}.json"


def parse_gap(name: str) -> tuple[int | None, int] | None:
    """From when until when the gap is, in ms; None: it is no gap."""
    found = _GAP.match(name)
    return None if found is None else (int(found["after"]) or None, int(found["until"]))
