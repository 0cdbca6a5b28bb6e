"""Small event lakes and small reports, written file by file as the contract has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from queues.lake.names import EntryId, drained_name, hour_dir
from queues.lake.schema import COLUMNS, arrow_schema
from queues.services.reporting.making.files import TABLES, Kind

_ARROW: Final = {
    Kind.TEXT: pa.string(),
    Kind.WHOLE: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.FLAG: pa.bool_(),
    Kind.TIME: pa.timestamp("ms", tz="UTC"),
}


def at(day: date, hour: int = 0, **more: int) -> datetime:
    """A moment of a day."""
    return datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=hour, **more)


def event(kind: str, moment: datetime, **fields: Any) -> dict[str, Any]:
    """An event of the lake; what is not said of it does not apply."""
    known = {"pool": "default", "namespace": "orders", "queue": "emails", "kind": kind, "at": moment, "demo": False}
    return dict.fromkeys(column.name for column in COLUMNS) | known | fields


def write_events(lake: Path, events: Iterable[dict[str, Any]]) -> None:
    """Each hour's events as a file of one drain."""
    by_hour: dict[str, list[dict[str, Any]]] = {}
    for number, one in enumerate(events):
        ms = int(one["at"].timestamp() * 1_000)
        place = {"partition": 0, "entry_ms": ms, "entry_seq": number, "line": 0}
        by_hour.setdefault(hour_dir(ms), []).append(one | place)
    for folder, rows in by_hour.items():
        ids = [EntryId(row["entry_ms"], row["entry_seq"]) for row in rows]
        path = lake / folder / str(drained_name("default", 0, min(ids), max(ids)))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, arrow_schema()), path, compression="zstd")


def figures(queue: str = "", *, hour: int | None = None, **values: Any) -> dict[str, Any]:
    """A row of the table `figures`: zeros, and nothing measured, unless `values` say otherwise."""
    empty: dict[str, Any] = {}
    for name, kind in TABLES["figures"].items():
        empty[name] = 0 if kind == Kind.WHOLE else True if kind == Kind.FLAG else None
    for metric in ("wait", "run", "total", "lateness"):
        empty |= {f"{metric}_{part}": None for part in ("p50", "p90", "p95", "p99", "max", "mean")}
    place = {"pool": "default", "namespace": "orders", "queue": queue, "hour": hour, "backlog": None}
    return empty | place | values


def write_report(
    out: Path,
    day: date,
    run: str,
    tables: Mapping[str, list[dict[str, Any]]],
    *,
    leave_out: str = "",
    **summary: Any,
) -> Path:
    """A run's files. Tables that are not given are empty; `leave_out` names a column that is missing in all of them."""
    folder = out / f"date={day}" / f"run={run}"
    for table, kinds in TABLES.items():
        schema = pa.schema([(name, _ARROW[kind]) for name, kind in kinds.items() if name != leave_out])
        rows = [{name: row.get(name) for name in schema.names} for row in tables.get(table, ())]
        (folder / f"{table}.parquet").mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{table}.parquet" / "part-00000.parquet")
    said = {"date": day.isoformat(), "run": run, "events": 0, "files": 0, "master": "local[*]", "complete": True}
    empty = {"warnings": [], "demo": False, "took_s": 1.0, "spark": "4.3.0"}
    (folder / "summary.json").write_text(json.dumps(said | empty | summary))
    return folder
