"""A day's events as a DataFrame: an explicit list of files, an explicit schema, date and hour from the path.

Names files that are damaged in the middle, where their footers do not tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow.parquet as pq
from fsspec.core import url_to_fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from queues.lake.counts import COLUMNS as COUNT_COLUMNS
from queues.lake.files import COLUMNS, ColumnType, LakeFile

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

_COUNT_TYPES: Final = {
    "string": t.StringType(),
    "int16": t.ShortType(),
    "int32": t.IntegerType(),
    "int64": t.LongType(),
}

COUNTS_SCHEMA: Final = t.StructType([t.StructField(name, _TYPES[kind]) for name, kind in COUNT_COLUMNS.items()])
"""The columns of Redis's own counts."""

_GLOB: Final = re.compile(r"([{}\[\]*?\\])")


def read_events(spark: SparkSession, *, lake: str, files: Sequence[LakeFile]) -> DataFrame:
    """The events of these files, with the columns of SCHEMA; none if there are no files. `lake`: its URL."""
    if not files:
        return no_rows(spark, SCHEMA)
    # Hadoop takes paths for patterns, unless they are escaped.
    paths = [_GLOB.sub(r"\\\1", spark_url(file.url)) for file in files]
    return spark.read.schema(SCHEMA).option("basePath", spark_url(lake)).parquet(*paths)


def read_counts(spark: SparkSession, urls: Sequence[str]) -> DataFrame:
    """Redis's own counts in these files, of which there is at least one."""
    paths = [_GLOB.sub(r"\\\1", spark_url(url)) for url in urls]
    return spark.read.schema(COUNTS_SCHEMA).parquet(*paths)


def spark_url(url: str) -> str:
    """As Hadoop calls it: its file system for S3 goes by the name s3a."""
    return re.sub(r"\As3://", "s3a://", url)


def no_rows(spark: SparkSession, schema: t.StructType) -> DataFrame:
    """Columns without rows. `createDataFrame` would start Python processes for that."""
    return spark.range(0).selectExpr(
        *(f"CAST(NULL AS {field.dataType.simpleString()}) AS {field.name}" for field in schema)
    )


READERS: Final = 4


def find_unreadable(urls: Sequence[str]) -> dict[str, str]:
    """URL → what is wrong, of those that cannot be read to the end, every page's checksum included."""
    with ThreadPoolExecutor(READERS) as threads:
        found = zip(urls, threads.map(_read, urls), strict=True)
        return {url: reason for url, reason in found if reason is not None}


def _read(url: str) -> str | None:
    try:
        fs, path = url_to_fs(url)
        with fs.open(path, "rb") as file:
            for _ in pq.ParquetFile(file, page_checksum_verification=True).iter_batches():
                pass
    except FileNotFoundError:
        return None  # compaction has taken it; the next list has what it became
    except Exception as error:  # pyarrow's errors share no base class of their own
        return f"is damaged: {' '.join(str(error).split())}"
    return None
