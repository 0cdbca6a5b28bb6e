"""A day's events as a DataFrame: an explicit list of files, an explicit schema, date and hour from the path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from queues.lake.counts import COLUMNS as COUNT_COLUMNS
from queues.lake.files import LakeFile
from queues.lake.schema import COLUMNS, ColumnType

_TYPES: Final[dict[ColumnType, t.DataType]] = {
    "string": t.StringType(),
    "timestamp_ms": t.TimestampType(),
    "int16": t.ShortType(),
    "int32": t.IntegerType(),
    "int64": t.LongType(),
    "bool": t.BooleanType(),
}

PARTITIONED_BY: Final = (t.StructField("date", t.DateType()), t.StructField("hour", t.IntegerType()))

SCHEMA: Final = t.StructType(
    [*(t.StructField(column.name, _TYPES[column.type], column.nullable) for column in COLUMNS), *PARTITIONED_BY]
)
"""The lake's columns, and the two that the directories say."""

COUNTS_SCHEMA: Final = t.StructType([t.StructField(name, _TYPES[kind]) for name, kind in COUNT_COLUMNS.items()])
"""The columns of Redis's own counts."""

_HADOOP_SCHEMES: Final = {"s3": "s3a", "gcs": "gs", "az": "abfs"}
"""Where Hadoop's name for a file system is another one than fsspec's."""

_GLOB: Final = re.compile(r"([{}\[\]*?\\])")


def read_events(spark: SparkSession, *, lake: str, files: Sequence[LakeFile]) -> DataFrame:
    """The events of these files, with the columns of SCHEMA; none if there are no files. `lake`: its URL."""
    if not files:
        return no_rows(spark, SCHEMA)
    paths = escaped_paths(file.url for file in files)
    return spark.read.schema(SCHEMA).option("basePath", spark_url(lake)).parquet(*paths)


def rows_by_file(events: DataFrame) -> dict[str, int]:
    """How many events of each file Spark reads, by the end of its URL (`path_in_lake`)."""
    counts = events.groupBy(f.input_file_name().alias("file")).count().collect()
    return {path_in_lake(unquote(row["file"])): int(row["count"]) for row in counts}


def path_in_lake(url: str) -> str:
    """`YYYY-MM-DD/hour=HH/NAME` of a file of the lake. Spark writes one slash where we write three."""
    return url.rpartition("/date=")[2]


def read_counts(spark: SparkSession, urls: Sequence[str]) -> DataFrame:
    """Redis's own counts in these files, of which there is at least one."""
    return spark.read.schema(COUNTS_SCHEMA).parquet(*escaped_paths(urls))


def escaped_paths(urls: Iterable[str]) -> list[str]:
    """As Spark is to be told these files: Hadoop takes paths for patterns, unless they are escaped."""
    return [escaped(spark_url(url)) for url in urls]


def escaped(path: str) -> str:
    """Hadoop takes paths for patterns, unless they are escaped."""
    return _GLOB.sub(r"\\\1", path)


def spark_url(url: str) -> str:
    """As Hadoop calls it. Most schemes have one name for all."""
    scheme, separator, rest = url.partition("://")
    return f"{_HADOOP_SCHEMES.get(scheme, scheme)}{separator}{rest}"


def no_rows(spark: SparkSession, schema: t.StructType) -> DataFrame:
    """Columns without rows. `createDataFrame` would start Python processes for that."""
    return spark.range(0).selectExpr(
        *(f"CAST(NULL AS {field.dataType.simpleString()}) AS {field.name}" for field in schema)
    )
