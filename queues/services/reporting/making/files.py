"""The files of reports below TASKQ_REPORTS_URL, which may be a path or any URL that fsspec knows.

date=YYYY-MM-DD/run=ID/TABLE.parquet/*.parquet     what a run computed; see TABLES
date=YYYY-MM-DD/run=ID/local=YYYY-MM-DD/TABLE.parquet/*.parquet   of namespaces with a time zone: their own day
date=YYYY-MM-DD/run=ID/summary.json                written last
date=YYYY-MM-DD/current.json                       {"run": ID}: the run that counts; later reports read it
cells/date=YYYY-MM-DD/...                          a cache of `queues.reports`"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypedDict, TypeVar, Unpack

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queues.lake.local_days import LocalDay
from queues.lake.names import DATE
from queues.lake.storage import LakeError, Storage
from queues.reports import schema

from ..failures import BadResultsError

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Kind(StrEnum):
    """What a column holds; how wide a number is does not matter."""

    TEXT = "text"
    WHOLE = "whole number"
    REAL = "number"
    FLAG = "yes or no"
    TIME = "time"


_IS: Final = {
    Kind.TEXT: lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    Kind.WHOLE: pa.types.is_integer,
    Kind.REAL: lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind),
    Kind.FLAG: pa.types.is_boolean,
    Kind.TIME: pa.types.is_timestamp,
}

SCOPE: Final = ("pool", "namespace", "queue")
"""Columns of every table that say what a row is about; never null."""

_KINDS: Final[Mapping[str, Kind]] = {
    "string": Kind.TEXT,
    "int32": Kind.WHOLE,
    "int64": Kind.WHOLE,
    "double": Kind.REAL,
    "bool": Kind.FLAG,
    "timestamp_ms": Kind.TIME,
}

TABLES: Final[Mapping[str, Mapping[str, Kind]]] = {
    table: {column.name: _KINDS[column.type] for column in columns} for table, columns in schema.TABLES.items()
}
"""What each table has to have."""


def check_columns(table: str, found: pa.Schema) -> None:
    """Raises BadResultsError if a column is missing or holds something else. More columns than known do no harm."""
    for name, kind in TABLES[table].items():
        index = found.get_field_index(name)
        if index < 0:
            raise BadResultsError(f"the report's table {table} has no column {name}")
        if not _IS[kind](found.field(index).type):
            raise BadResultsError(f"the report's table {table}: {name} is {found.field(index).type}, not a {kind}")


BATCH_ROWS: Final = 2_000
"""Rows that are Python objects at the same time."""

HISTOGRAM_ROWS: Final = 100_000
"""The same of histograms, whose rows are numbers but for a few names."""

RUN_PREFIX: Final = "run="

CELLS: Final = "cells"
"""Where `queues.reports` keeps what it has made of hours: a cache of its own."""


class Which(TypedDict, total=False):
    """Which rows. `of_hours`: only those of hours, or of whole days. `queues`: only those of queues of these names.
    `local`: of that day of namespaces with a time zone."""

    of_hours: bool | None
    queues: Collection[str] | None
    local: LocalDay | None


class Histogram(NamedTuple):
    """Whose times: of that metric in a queue, or in a namespace if `queue` is ""."""

    pool: str
    namespace: str
    queue: str
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """The files of one day."""

    storage: Storage
    day: date

    def read_summary(self, run_id: str) -> dict[str, Any]:
        """Raises BadResultsError if the run did not come to its end."""
        path = f"{self._of_run(run_id)}/summary.json"
        try:
            summary = json.loads(self.storage.read(path))
        except (FileNotFoundError, LakeError, ValueError) as error:
            raise BadResultsError(f"the report's summary cannot be read: {error}") from error
        if not isinstance(summary, dict):
            raise BadResultsError(f"the report's summary is no object: {path}")
        return summary

    def read_rows(self, run_id: str, table: str, **which: Unpack[Which]) -> Iterator[dict[str, Any]]:
        """Rows of a table, by the names in the contract; times in ms since 1970. Raises BadResultsError."""
        return self._read(run_id, table, which, _rows_of, at_once=BATCH_ROWS)

    def read_histograms(self, run_id: str, **which: Unpack[Which]) -> Iterator[tuple[Histogram, dict[int, int]]]:
        """Whose times, and how many by bucket. A histogram may come in parts: it has a row for each bucket, and there
        may be millions. Raises BadResultsError."""
        return self._read(run_id, "histograms", which, _histograms_of, at_once=HISTOGRAM_ROWS)

    def _read(
        self, run_id: str, table: str, which: Which, make: Callable[[Any], Iterable[T]], *, at_once: int
    ) -> Iterator[T]:
        """What `make` makes of the rows that are wanted, so many `at_once`."""
        queues, local = which.get("queues"), which.get("local")
        names_wanted = None if queues is None else pa.array(sorted(queues), pa.string())
        folder = f"{self._of_run(run_id)}/{f'{local.folder}/' if local else ''}{table}.parquet"
        try:
            names = [entry.name for entry in self.storage.list(folder) if _is_data(entry.name)]
            if not names:
                raise BadResultsError(f"the report has no table {table}")
            for name in names:
                with self.storage.open(f"{folder}/{name}", "rb") as file:
                    for batch in _batches(file, table, at_once, which.get("of_hours"), names_wanted):
                        yield from make(batch)
        except (OSError, LakeError, pa.ArrowException) as error:
            raise BadResultsError(f"the report's table {table} cannot be read: {error}") from error

    def make_current(self, run_id: str) -> None:
        """Say that `run_id` is the one that counts. Raises LakeError, OSError."""
        self.storage.replace(f"{self._of_day}/current.json", json.dumps({"run": run_id}).encode())

    def delete_runs(self, *, but: str = "") -> None:
        """Delete all runs of the day but one, and what killed ones have left. Raises LakeError, OSError."""
        for entry in self.storage.list(self._of_day):
            if entry.name.startswith((RUN_PREFIX, ".")) and entry.name != f"{RUN_PREFIX}{but}":
                self.storage.fs.rm(self.storage.path(f"{self._of_day}/{entry.name}"), recursive=True)

    def delete_run(self, run_id: str) -> None:
        """Delete what a run that failed has left. What hinders that is logged: the next good run deletes it."""
        path = self.storage.path(self._of_run(run_id))
        try:
            # A directory may be empty: a run may be stopped at any moment.
            if self.storage.list(self._of_run(run_id)) or self.storage.fs.isdir(path):
                self.storage.fs.rm(path, recursive=True)
        except (OSError, LakeError) as error:
            fields = {"action": "report.clean", "run": run_id, "reason": str(error)}
            logger.warning("files of a failed report not deleted", extra=fields)

    def delete_day(self) -> None:
        """Delete the day's reports altogether, cells of its hours included. Raises LakeError, OSError."""
        for folder in (self._of_day, f"{CELLS}/{self._of_day}"):
            if self.storage.fs.exists(self.storage.path(folder)):
                self.storage.fs.rm(self.storage.path(folder), recursive=True)

    @property
    def _of_day(self) -> str:
        return f"{DATE}{self.day.isoformat()}"

    def _of_run(self, run_id: str) -> str:
        return f"{self._of_day}/{RUN_PREFIX}{run_id}"


def files_of(url: str, day: date) -> ReportFiles:
    """Those of a day below `url`. Raises LakeError if no files can be kept there."""
    return ReportFiles(storage=Storage(url), day=day)


def _is_data(name: str) -> bool:
    return name.endswith(".parquet") and name[0] not in "_."


def _batches(file: Any, table: str, rows: int, of_hours: bool | None, queues: Any) -> Iterator[Any]:
    """`queues`: an array of names; None: all."""
    parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="ms", page_checksum_verification=True)
    check_columns(table, parquet.schema_arrow)
    for batch in parquet.iter_batches(rows, columns=list(TABLES[table])):
        if of_hours is not None:
            is_day = pc.is_null(batch["hour"])
            batch = batch.filter(pc.invert(is_day) if of_hours else is_day)
        if any(batch[name].null_count for name in SCOPE):
            raise BadResultsError(f"the report's table {table} has a row about no queue")
        if queues is not None:
            batch = batch.filter(pc.is_in(batch["queue"].cast(pa.string()), value_set=queues))
        yield batch


def _rows_of(batch: Any) -> Iterator[dict[str, Any]]:
    names = batch.schema.names
    for values in zip(*(_plain(batch[name]).to_pylist() for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


def _histograms_of(batch: Any) -> Iterator[tuple[Histogram, dict[int, int]]]:
    lists = [(name, "list") for name in ("bucket", "jobs")]
    groups = pa.Table.from_batches([batch]).group_by([*SCOPE, "metric"], use_threads=False).aggregate(lists)
    names = (groups[name].to_pylist() for name in (*SCOPE, "metric"))
    parts = zip(*names, groups["bucket_list"].to_pylist(), groups["jobs_list"].to_pylist(), strict=True)
    for pool, namespace, queue, metric, buckets, jobs in parts:
        yield Histogram(pool, namespace, queue, metric), dict(zip(buckets, jobs, strict=True))


def _plain(column: pa.Array) -> pa.Array:
    """Times as ms since 1970, as JSON can hold them; what is no number as null. Spark may write times without a zone;
    they are UTC."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column
