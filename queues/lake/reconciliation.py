"""Holds what the lake has of a day against Redis's own count of the events that it appended.

Of each pool: appended = in the lake + in damaged files + dropped by the cap + difference. So a difference above zero
are events that are missing, and one below zero are events that Redis does not know of, or that are there twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from .files import DamagedFile, Gap, LakeFile
from .names import manifest_name, parse_drained, pool_in_name
from .storage import LakeError, Storage

READERS: Final = 16
"""Footers that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBalance:
    """Events of a pool on a day. `pool`: as file names have it.

    `appended`: by Redis's own count; None: none was noted. `in_lake`: without made-up ones. `damaged`: in files that
    are left out; None: in some of them an unknown number. `dropped`: by gaps of this day; `dropped_around`: by gaps
    that reach into other days, of which any part may be of this day.
    """

    pool: str
    appended: int | None
    in_lake: int
    damaged: int | None
    dropped: int
    dropped_around: int

    @property
    def difference(self) -> int:
        """Above 0: events that are missing, and nothing says why; below: events too many. 0 also if nobody knows."""
        if self.appended is None:
            return 0
        left = self.appended - self.in_lake - (self.damaged or 0) - self.dropped
        if left <= 0:
            return left
        return 0 if self.damaged is None else max(0, left - self.dropped_around)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "pool": self.pool,
            "appended": self.appended,
            "in_lake": self.in_lake,
            "damaged": self.damaged,
            "dropped": self.dropped,
            "dropped_around": self.dropped_around,
            "difference": self.difference,
        }


def balance_day(
    storage: Storage,
    day: date,
    *,
    appended: Mapping[str, int],
    live: Sequence[LakeFile],
    damaged: Sequence[DamagedFile],
    gaps: Iterable[Gap],
) -> list[PoolBalance]:
    """The balance of each pool that had events. `appended`: by pool, as file names have it.

    Raises LakeError if a file that should be sound cannot be read.
    """
    in_lake = _events_of_files(storage, live)
    lost, unknown = _events_of_damaged(storage, damaged)
    dropped: Counter[str] = Counter()
    around: Counter[str] = Counter()
    for gap in gaps:
        (dropped if _is_within(gap, day) else around)[pool_in_name(gap.pool)] += gap.dropped
    pools = {pool for pool, events in in_lake.items() if events} | lost.keys() | dropped.keys() | around.keys()
    return [
        PoolBalance(
            pool=pool,
            appended=appended.get(pool),
            in_lake=in_lake[pool],
            damaged=None if pool in unknown or ANY in unknown else lost[pool],
            dropped=dropped[pool],
            dropped_around=around[pool],
        )
        for pool in sorted((pools | unknown | appended.keys()) - {ANY})
    ]


def describe_difference(balance: PoolBalance) -> str:
    """What is missing or too much, and all numbers; "" if they agree."""
    if not balance.difference:
        return ""
    what = (
        f"{balance.difference:,} events are missing and nothing says why"
        if balance.difference > 0
        else f"there are {-balance.difference:,} events more than Redis counted"
    )
    others = [
        f"{number:,} {words}"
        for number, words in (
            (balance.damaged, "in damaged files"),
            (balance.dropped, "dropped"),
            (balance.dropped_around, "dropped on this day or beside it"),
        )
        if number
    ]
    known = "".join(f", {one}" for one in others)
    return f"pool {balance.pool}: {what}: Redis appended {balance.appended:,}, the lake has {balance.in_lake:,}{known}"


ANY: Final = ""
"""Stands for a pool that nobody knows."""


def _is_within(gap: Gap, day: date) -> bool:
    if gap.from_ms is None:
        return False
    return all(datetime.fromtimestamp(at / 1000, UTC).date() == day for at in (gap.from_ms, gap.until_ms))


def _events_of_files(storage: Storage, files: Sequence[LakeFile]) -> Counter[str]:
    """By pool. Most names say it, also those of what was compacted; other files are looked into."""
    counts: Counter[str] = Counter()
    others: list[LakeFile] = []
    for file in files:
        if file.pool is None:
            others.append(file)
        else:
            counts[file.pool] += file.rows
    with ThreadPoolExecutor(READERS) as threads:
        for found in threads.map(lambda file: _events_of_file(storage, file), others):
            counts.update(found)
    return counts


def _events_of_file(storage: Storage, file: LakeFile) -> Counter[str]:
    """By the statistics of its row groups where all rows are alike: compacted files are sorted by pool."""
    import pyarrow.compute as pc  # here and below: as in `files`
    import pyarrow.parquet as pq

    counts: Counter[str] = Counter()
    try:
        with storage.open(file.url[len(storage.url("")) :].lstrip("/"), "rb") as content:
            parquet = pq.ParquetFile(content, page_checksum_verification=True)
            places = {name: parquet.schema_arrow.get_field_index(name) for name in ("pool", "demo")}
            for number in range(parquet.num_row_groups):
                group = parquet.metadata.row_group(number)
                only = {name: _only_value(group.column(place).statistics) for name, place in places.items()}
                if only["demo"] is True:
                    continue
                if only["demo"] is False and only["pool"] is not None:
                    counts[pool_in_name(only["pool"])] += group.num_rows
                    continue
                rows = parquet.read_row_group(number, columns=list(places))
                for one in pc.value_counts(rows.filter(pc.invert(rows["demo"]))["pool"]).to_pylist():
                    counts[pool_in_name(one["values"])] += one["counts"]
    except FileNotFoundError as error:
        raise LakeError(f"{file.url} is gone") from error
    except Exception as error:  # of a file system, or of pyarrow, whose errors share no base class
        raise LakeError(f"{file.url}: {' '.join(str(error).split())}") from error
    return counts


def _only_value(statistics: Any) -> Any:
    """The value that all rows have; None: there are several, or nobody knows."""
    if statistics is None or not statistics.has_min_max or statistics.null_count:
        return None
    return statistics.min if statistics.min == statistics.max else None


def _events_of_damaged(storage: Storage, files: Iterable[DamagedFile]) -> tuple[Counter[str], set[str]]:
    """By pool; and of which pools an unknown number is damaged."""
    lost: Counter[str] = Counter()
    unknown: set[str] = set()
    for file in files:
        if file.rows == 0:
            continue
        pools = _pools_in(storage, file.url)
        if file.rows is None or len(pools) != 1:
            unknown |= pools or {ANY}
        else:
            lost[next(iter(pools))] += file.rows
    return lost, unknown


def _pools_in(storage: Storage, url: str) -> set[str]:
    """The pools of which a file has events, by its name or its manifest; none: nobody knows."""
    name = _name(url)
    if (drained := parse_drained(name)) is not None:
        return {drained.pool}
    folder = url[len(storage.url("")) :].lstrip("/").rpartition("/")[0]
    try:
        sources = json.loads(storage.read(f"{folder}/{manifest_name(name)}"))["sources"]
    except (FileNotFoundError, LakeError, ValueError, TypeError, KeyError):
        return set()
    parsed = [parse_drained(source) for source in sources]
    return {one.pool for one in parsed if one} if all(parsed) else set()


def _name(url: str) -> str:
    return url.rpartition("/")[2]
