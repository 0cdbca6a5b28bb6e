"""Copies days of the lake into an Apache Iceberg table: a snapshot for each day that is new or has changed.

A snapshot replaces all of a day at once, and its summary says which files of the lake the day was made of (`DAY`,
`FINGERPRINT`). A run that finds the same fingerprint in the table's history does nothing; one that was killed before
its snapshot was committed leaves files that no snapshot names; of two runs at the same time, the catalog refuses the
second one's snapshot. So each event is in the table once, however often, and by however many processes, a day is
exported.

Needs pyiceberg (the extra `iceberg`). docs/data/iceberg.md is for those who use the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from .files import DamagedFile, DamagedFileError, LakeFile, read_batches, read_day
from .schema import COLUMNS, VERSION, ColumnType
from .storage import LakeError, Storage

DAY: Final = "taskq.day"
FINGERPRINT: Final = "taskq.fingerprint"
FILES: Final = "taskq.files"
LEFT_OUT: Final = "taskq.left-out"
SCHEMA_VERSION: Final = "taskq.schema-version"
"""In a snapshot's summary: the UTC day, what it was made of, how many files, and how many damaged ones are missing."""

OWN_CATALOG: Final = "sqlite"
"""A catalog in a SQLite file beside the data, for one machine."""

TRIES: Final = 5
"""How often a day is begun again: without files that turned out to be damaged, with the lake's newest files, or because
somebody else has committed meanwhile."""

FILE_ROWS: Final = 1_000_000
"""Rows of a data file; batches of BATCH_ROWS are in memory at a time."""

BATCH_ROWS: Final = 131_072

_AT: Final = 1 + [column.name for column in COLUMNS].index("at")
"""The id of the column by whose day the table is partitioned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTarget:
    """Which table. `catalog`: OWN_CATALOG, or the name of one that pyiceberg's configuration knows. `warehouse`: where
    OWN_CATALOG and its tables are; a directory or a URL. `table`: `NAMESPACE.NAME`."""

    catalog: str
    warehouse: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDay:
    """`snapshot`: the id of the new snapshot; None: the table has the day as the lake has it. `damaged`: files whose
    events are not in the table."""

    day: date
    snapshot: int | None
    rows: int
    files: int
    damaged: tuple[DamagedFile, ...] = ()


def open_table(target: IcebergTarget) -> Any:
    """The `pyiceberg.table.Table`, made if it is not there, with all columns that the lake has. Raises LakeError."""
    try:
        catalog = _catalog(target)
        return _with_all_columns(_load_or_create(catalog, target))
    except LakeError:
        raise
    except ImportError as error:
        raise LakeError(f"Iceberg needs a package that is missing ({error}): pip install 'taskq[iceberg]'") from error
    except Exception as error:  # pyiceberg's errors, and those of catalogs and file systems, share no base class
        raise LakeError(f"the Iceberg table {target.table} cannot be opened: {_words(error)}") from error


def export_day(lake: str, day: date, target: IcebergTarget) -> ExportedDay:
    """Have the table hold the day as the lake has it now. Raises LakeError."""
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    storage = Storage(lake)
    damaged: dict[str, DamagedFile] = {}
    for tries_left in reversed(range(TRIES)):
        files = read_day(lake, day)
        live = [file for file in files.live if file.url not in damaged]
        missing = (*files.corrupt, *(file for file in damaged.values() if file.url in {one.url for one in files.live}))
        table = open_table(target)
        try:
            return _export(storage, table, day, live, missing)
        except DamagedFileError as error:
            damaged[error.file.url] = error.file
            if not tries_left:
                raise
        except (FileNotFoundError, CommitFailedException, ValidationException) as error:
            # Compaction has taken a file, or another process has committed: see what there is now.
            if not tries_left:
                raise LakeError(f"{day} was not exported: {_words(error)}") from error
        except LakeError:
            raise
        except Exception as error:  # as above
            raise LakeError(f"{day} was not exported to {target.table}: {_words(error)}") from error
    raise AssertionError  # the last try returns or raises


def fingerprint_of(storage: Storage, files: Sequence[LakeFile], missing: Sequence[DamagedFile]) -> str:
    """The same for the same files; another one when some have come, gone or been merged."""
    start = storage.url("")
    lines = [f"{file.url.removeprefix(start)} {file.size} {file.rows}" for file in files]
    lines += [f"{file.url.removeprefix(start)} left out" for file in missing]
    return hashlib.sha256("\n".join([f"{VERSION}", *sorted(lines)]).encode()).hexdigest()


def exported_days(table: Any) -> Mapping[str, Mapping[str, str]]:
    """Of each day (ISO) the summary of the newest snapshot that made it, as far as the table's history goes back."""
    found: dict[str, Mapping[str, str]] = {}
    by_id = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    snapshot = table.current_snapshot()
    while snapshot is not None:  # not by time: a table may have been rolled back
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if DAY in summary:
            found.setdefault(summary[DAY], summary)
        snapshot = by_id.get(snapshot.parent_snapshot_id)
    return found


def _export(
    storage: Storage, table: Any, day: date, live: Sequence[LakeFile], missing: Sequence[DamagedFile]
) -> ExportedDay:
    fingerprint = fingerprint_of(storage, live, missing)
    before = exported_days(table).get(day.isoformat())
    told: dict[str, Any] = {"day": day, "files": len(live), "damaged": tuple(missing)}
    if before is not None and before.get(FINGERPRINT) == fingerprint:
        return ExportedDay(snapshot=None, rows=sum(file.rows for file in live), **told)
    if not live:  # what the lake has deleted stays in the table
        return ExportedDay(snapshot=None, rows=0, **told)
    old = _data_files(table, day)
    summary = {
        DAY: day.isoformat(),
        FINGERPRINT: fingerprint,
        FILES: str(len(live)),
        LEFT_OUT: str(len(missing)),
        SCHEMA_VERSION: str(VERSION),
    }
    written: list[str] = []
    try:
        rows = _write(storage, table, day, live, written)
    except BaseException:
        _forget(table, written)
        raise
    _commit(table, day, old, written, summary)
    return ExportedDay(snapshot=table.current_snapshot().snapshot_id, rows=rows, **told)


def _commit(table: Any, day: date, old: Sequence[Any], written: Sequence[str], summary: Mapping[str, str]) -> None:
    """One snapshot, in which the old files of the day are no more and the new ones are there.

    Raises CommitFailedException or ValidationException if somebody else has changed the day since the table was read.
    """
    from pyiceberg.exceptions import CommitFailedException, ValidationException
    from pyiceberg.io.pyarrow import parquet_files_to_data_files

    files = list(parquet_files_to_data_files(table.io, table.metadata, iter(written)))
    try:
        with (
            table.transaction() as transaction,
            transaction.update_snapshot(snapshot_properties=dict(summary)).overwrite() as snapshot,
        ):
            snapshot.delete_by_predicate(_within(day))  # what counts as a conflict
            for file in old:
                snapshot.delete_data_file(file)
            for file in files:
                snapshot.append_data_file(file)
    except (CommitFailedException, ValidationException):
        _forget(table, written)
        raise
    # After any other error nobody knows whether the snapshot is there: its files have to stay.


def _write(storage: Storage, table: Any, day: date, live: Sequence[LakeFile], written: list[str]) -> int:
    """Data files of the day, whose addresses are added to `written` as they are begun. The number of rows."""
    import pyarrow.parquet as pq

    schema = _file_schema(table)
    folder = f"{table.location()}/data/at_day={day.isoformat()}"
    rows = 0
    batches = _batches(storage, live)
    batch = next(batches, None)
    while batch is not None:
        written.append(f"{folder}/{uuid4()}.parquet")
        in_file = 0
        with (
            table.io.new_output(written[-1]).create() as stream,
            pq.ParquetWriter(stream, schema, compression="zstd", write_page_checksum=True) as writer,
        ):
            while batch is not None and in_file < FILE_ROWS:
                writer.write_batch(_as_iceberg(batch, schema))
                in_file += len(batch)
                batch = next(batches, None)
        rows += in_file
    return rows


def _batches(storage: Storage, live: Sequence[LakeFile]) -> Iterator[Any]:
    """Raises DamagedFileError, FileNotFoundError."""
    for file in live:
        for batch in read_batches(storage, file.url.removeprefix(storage.url("")).lstrip("/"), rows=BATCH_ROWS):
            if len(batch):
                yield batch


def _as_iceberg(batch: Any, schema: Any) -> Any:
    """Iceberg's times are in µs, and it has no integers of 16 bits. Columns that the lake does not have are null."""
    import pyarrow as pa

    names = batch.schema.names
    columns = [
        batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _data_files(table: Any, day: date) -> list[Any]:
    """Those of the day. Each file is of one day, because the table is partitioned by it."""
    return [task.file for task in table.scan(row_filter=_within(day)).plan_files()]


def _within(day: date) -> Any:
    """The day, as an expression of Iceberg's."""
    from pyiceberg.expressions.parser import parse

    begin = datetime.combine(day, time(), UTC)
    end = begin + timedelta(days=1)
    return parse(f"at >= '{begin.isoformat()}' and at < '{end.isoformat()}'")


def _forget(table: Any, written: Sequence[str]) -> None:
    """Delete files that no snapshot will name. What cannot be deleted does no harm."""
    for path in written:
        with suppress(Exception):
            table.io.delete(path)


def _catalog(target: IcebergTarget) -> Any:
    from pyiceberg.catalog import load_catalog

    if target.catalog != OWN_CATALOG:
        return load_catalog(target.catalog)
    warehouse = target.warehouse
    if "://" not in warehouse:
        Path(warehouse).mkdir(parents=True, exist_ok=True)
        return load_catalog(
            "taskq", type="sql", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=Path(warehouse).as_uri()
        )
    raise LakeError(f"{warehouse}: a catalog in SQLite is a local file; give a directory, or another catalog")


def _load_or_create(catalog: Any, target: IcebergTarget) -> Any:
    from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import DayTransform

    namespace, _, name = target.table.rpartition(".")
    if not namespace or not name:
        raise LakeError(f"{target.table}: expected NAMESPACE.NAME for an Iceberg table")
    with suppress(NoSuchTableError):
        return _checked(catalog.load_table(target.table))
    catalog.create_namespace_if_not_exists(namespace)
    try:
        spec = PartitionSpec(PartitionField(source_id=_AT, field_id=1_000, transform=DayTransform(), name="at_day"))
        catalog.create_table(target.table, schema=_schema(), partition_spec=spec)
    except TableAlreadyExistsError:  # made by another process just now
        pass
    return _checked(catalog.load_table(target.table))


def _checked(table: Any) -> Any:
    """Raises LakeError if the table is not partitioned by day: a day could not be replaced as a whole."""
    fields = [(field.name, str(field.transform)) for field in table.spec().fields]
    if fields != [("at_day", "day")]:
        raise LakeError(
            f"the Iceberg table {'.'.join(table.name())} is not partitioned by day(at) alone: {table.spec()}"
        )
    return table


def _with_all_columns(table: Any) -> Any:
    """A lake of a later version has columns more."""
    have = {field.name for field in table.schema().fields}
    if any(column.name not in have for column in COLUMNS):
        with table.update_schema() as update:
            update.union_by_name(_schema())
    return table


def _schema() -> Any:
    """The `pyiceberg.schema.Schema` of a new table."""
    from pyiceberg import types as t
    from pyiceberg.schema import Schema

    kinds: dict[ColumnType, Any] = {
        "string": t.StringType(),
        "timestamp_ms": t.TimestamptzType(),
        "int16": t.IntegerType(),
        "int32": t.IntegerType(),
        "int64": t.LongType(),
        "bool": t.BooleanType(),
    }
    return Schema(
        *(
            t.NestedField(number, column.name, kinds[column.type], required=not column.nullable, doc=column.meaning)
            for number, column in enumerate(COLUMNS, start=1)
        )
    )


def _file_schema(table: Any) -> Any:
    """The `pyarrow.Schema` of data files, with the ids by which Iceberg knows columns."""
    import pyarrow as pa
    from pyiceberg import types as t

    kinds: dict[Any, Any] = {
        t.StringType: pa.string(),
        t.TimestamptzType: pa.timestamp("us", tz="UTC"),
        t.IntegerType: pa.int32(),
        t.LongType: pa.int64(),
        t.BooleanType: pa.bool_(),
    }
    known = {column.name for column in COLUMNS}
    return pa.schema(
        pa.field(
            field.name,
            kinds[type(field.field_type)],
            nullable=not field.required,
            metadata={"PARQUET:field_id": str(field.field_id)},
        )
        for field in table.schema().fields
        if field.name in known
    )


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
