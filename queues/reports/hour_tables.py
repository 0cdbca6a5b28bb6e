"""Writes the cells of hours with Spark, and reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from .events import SCHEMA, escaped, no_rows
from .hour_cells import CellFiles
from .tables.cells import SCOPE

_SCOPE: Final = [t.StructField(name, t.StringType()) for name in SCOPE]
_HOUR: Final = t.StructField("hour", t.IntegerType())
_RUN: Final = t.StructField("run", t.StringType())
"""Told by the directory."""

_LONGS: Final = ("events", "again", "bytes", "gone", "destroyed")

SCHEMAS: Final[Mapping[str, t.StructType]] = {
    "counts": t.StructType(
        [
            *_SCOPE,
            _HOUR,
            t.StructField("kind", t.StringType()),
            t.StructField("ended_by", t.IntegerType()),
            *(t.StructField(name, t.LongType()) for name in _LONGS),
            *(t.StructField(name, t.TimestampType()) for name in ("first_at", "last_at")),
            t.StructField("demo", t.BooleanType()),
        ]
    ),
    "values": t.StructType(
        [
            *_SCOPE,
            _HOUR,
            t.StructField("metric", t.StringType()),
            *(t.StructField(name, t.LongType()) for name in ("ms", "n")),
        ]
    ),
    "notable": t.StructType(
        [
            *_SCOPE,
            _HOUR,
            *(SCHEMA[name] for name in ("kind", "job", "attempt", "at", "worker", "error")),
            t.StructField("ms", t.LongType()),
        ]
    ),
}
"""What is read. Told so, Spark need not look into the files before it plans."""


def write_table(files: CellFiles, run_id: str, table: str, rows: DataFrame) -> None:
    """Write a table of a run."""
    rows.select(*SCHEMAS[table].names).write.parquet(files.table_url(run_id, table))


def read_table(
    spark: SparkSession,
    files: CellFiles,
    table: str,
    hours: Mapping[str, Collection[int] | None],
    *,
    more: Sequence[str] = (),
) -> DataFrame:
    """The rows of these hours. `hours`: run → those of its hours that are wanted; None: all. `more`: `run`, as well."""
    schema = SCHEMAS[table]
    if not hours:
        return no_rows(spark, schema)
    paths = [escaped(files.table_url(run_id, table)) for run_id in hours]
    rows = spark.read.schema(t.StructType([*schema, _RUN])).option("basePath", files.url).parquet(*paths)
    if any(some is not None for some in hours.values()):
        rows = rows.where(" OR ".join(_is_wanted(run_id, some) for run_id, some in hours.items()))
    return rows.select(*schema.names, *more)


def _is_wanted(run_id: str, hours: Collection[int] | None) -> str:
    of_run = f"run = '{run_id}'"
    return of_run if hours is None else f"({of_run} AND hour IN ({', '.join(map(str, sorted(hours)))}))"
