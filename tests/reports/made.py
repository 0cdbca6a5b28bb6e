"""Events made up by tests, and a lake that holds them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import redis

from queues.engine import Engine, open_engine
from queues.lake.names import EntryId, drained_name, hour_dir
from queues.lake.schema import arrow_schema
from queues.lake.writer import parquet_bytes

Event = dict[str, Any]
"""By the lake's columns; `at` and `published` in ms."""


def event(kind: str, at: int, **others: Any) -> Event:
    """An event of queue `q` in namespace `ns` of pool `default`, unless told otherwise."""
    place = {"pool": "default", "namespace": "ns", "queue": "q"}
    nothing = dict.fromkeys(("job", "published", "attempt", "wait_ms", "run_ms", "size", "worker", "error"))
    return {**place, "kind": kind, "at": at, **nothing, "demo": False, **others}


@contextmanager
def empty_engine(redis_url: str, *, partitions: int, events_memory: int | None = None) -> Iterator[Engine]:
    """On a Redis that has nothing, whatever a test before has left there. `events_memory`: room for events in bytes."""
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    engine = open_engine(redis_url, partitions=partitions, events_memory=events_memory)
    try:
        yield engine
    finally:
        engine.close()


def ms(text: str) -> int:
    """A time in UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def write_lake(lake: Path, events: Iterable[Mapping[str, Any]], *, name: str = "made.parquet") -> None:
    """Each hour's events in one file."""
    numbered = [
        {**one, "partition": 0, "entry_ms": one["at"], "entry_seq": number, "line": 0}
        for number, one in enumerate(events)
    ]
    for folder, rows in groupby(sorted(numbered, key=lambda one: one["at"]), key=lambda one: hour_dir(one["at"])):
        path = lake / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(list(rows), schema=arrow_schema())
        path.write_bytes(parquet_bytes(table))


def arrive(lake: Path, events: Sequence[Event], number: int) -> None:
    """The events come into the lake as drained files, the `number`th ones of their hours."""
    for hour in sorted({hour_dir(one["at"]) for one in events}):
        name = drained_name("default", 0, EntryId(1_000 * number, 0), EntryId(1_000 * number + 999, 0))
        write_lake(lake, [one for one in events if hour_dir(one["at"]) == hour], name=str(name))


def pointers(out: Path, day: str) -> dict[int, str]:
    """Hour → the run whose cells of it count."""
    found = {}
    for path in (out / "cells" / f"date={day}").glob("hour=*.json"):
        found[int(path.stem.removeprefix("hour="))] = json.loads(path.read_text())["content"]["run"]
    return found


def ask_duckdb(lake: Path, query: str, day: str = "*") -> list[tuple[Any, ...]]:
    """What DuckDB answers; `{day}` in the query stands for the day's events."""
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.sql(query.format(day=f"read_parquet('{lake}/date={day}/*/*.parquet')")).fetchall()


def read_table(out: Path, day: str, table: str, run: str = "one") -> list[dict[str, Any]]:
    """The rows of a report's table, times in ms."""
    rows: list[dict[str, Any]] = pq.read_table(out / f"date={day}" / f"run={run}" / f"{table}.parquet").to_pylist()
    return [in_ms(row) for row in rows]


def in_ms(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its times in ms."""
    return {
        key: round(value.timestamp() * 1000) if isinstance(value, datetime) else value for key, value in row.items()
    }
