"""What is in a lake, read as anybody would: the files that count, with pyarrow."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from queues.lake.files import Gap, read_hour
from queues.lake.names import is_temporary
from queues.lake.schema import NAMED_BY, arrow_schema
from queues.lake.storage import Storage


class EventName(NamedTuple):
    """What tells an event from all others."""

    pool: str
    partition: int
    entry_ms: int
    entry_seq: int
    line: int


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake below a URL."""

    url: str

    def folders(self) -> list[str]:
        storage = Storage(self.url)
        days = [day.name for day in storage.list("") if day.is_dir and day.name.startswith("date=")]
        return [f"{day}/{hour.name}" for day in days for hour in storage.list(day)]

    def files(self) -> list[str]:
        """Paths of the files that count, below the lake."""
        storage = Storage(self.url)
        return [f"{folder}/{name}" for folder in self.folders() for name in read_hour(storage, folder).live]

    def everything(self) -> list[str]:
        """Paths of all files."""
        storage = Storage(self.url)
        return [f"{folder}/{entry.name}" for folder in self.folders() for entry in storage.list(folder)]

    def unfinished(self) -> list[str]:
        return [path for path in self.everything() if is_temporary(path.rpartition("/")[2])]

    def table(self) -> Any:
        storage = Storage(self.url)
        tables = [pq.read_table(pa.BufferReader(storage.read(path))) for path in self.files()]
        return pa.concat_tables(tables) if tables else arrow_schema().empty_table()

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table().to_pylist()
        return sorted(rows, key=lambda row: tuple(row[name] for name in NAMED_BY))

    def names(self) -> Counter[EventName]:
        """How often each event is there."""
        columns = self.table().select(NAMED_BY).to_pydict()
        return Counter(map(EventName, *(columns[name] for name in NAMED_BY)))

    def gaps(self) -> list[Gap]:
        storage = Storage(self.url)
        return [Gap(**json.loads(storage.read(f"_gaps/{entry.name}"))) for entry in storage.list("_gaps")]


def names_in_stream(client: Any, pool: str, partitions: int) -> Counter[EventName]:
    """The events that are still in the streams."""
    found: Counter[EventName] = Counter()
    for partition in range(partitions):
        for entry, fields in client.xrange(f"{{tq{partition}}}:events"):
            ms, seq = map(int, entry.split(b"-"))
            for line in range(int(fields[b"n"])):
                found[EventName(pool, partition, ms, seq, line)] += 1
    return found


def local_lake(path: Path) -> Lake:
    return Lake(str(path))
