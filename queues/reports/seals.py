"""Seals of the lake's files, checked where a cluster's executors are: here nothing is read of files that are sound.

No Python runs there. Spark reads whole files as bytes, and its own functions find the seal (`queues.lake.footers`) and
compare its checksums with those of what is before and behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from queues.lake.files import SealCheck
from queues.lake.footers import END, MAGIC, SEAL_SIZE
from queues.lake.storage import Entry
from queues.spark_settings import is_local

from .events import escaped_paths, path_in_lake

FILES_MIN: Final = 200
"""Fewer are looked at here: sooner than Spark has begun."""

SIZE_MAX: Final = 64 << 20
"""An executor holds a file twice while it looks at it. Larger ones are looked at here: of each only its end is read."""


def executors_check(spark: SparkSession, *, master: str) -> SealCheck | None:
    """For `read_day`. None: all of Spark is here, and to look at the ends of files takes less."""
    return None if is_local(master) else partial(sound_rows, spark)


def sound_rows(spark: SparkSession, files: Mapping[str, Entry]) -> dict[str, int]:
    """The events of each file whose seal agrees with the whole of it, by URL. What it does not name is to be looked at
    one by one: files without a seal, damaged ones, large ones, and those that are gone. `files`: by URL."""
    by_path = {path_in_lake(url): url for url, entry in files.items() if entry.size <= SIZE_MAX}
    if len(by_path) < FILES_MIN:
        return {}
    # Directories: of files Spark's driver would ask whether each exists.
    folders = sorted({url.rpartition("/")[0] for url in by_path.values()})
    reader = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").option("ignoreMissingFiles", "true")
    content = reader.load(escaped_paths(folders)).where(f"length <= {SIZE_MAX}")
    sealed = content.selectExpr("path", *_parts())
    sound = sealed.where(
        f"magic = X'{MAGIC.hex()}' AND seal_crc = {_number('seal', 25, 4)}"
        f" AND footer_crc = {_number('seal', 21, 4)} AND data_crc = {_number('seal', 17, 4)}"
    ).selectExpr("path", f"{_number('seal', 9, 8)} AS rows")
    found = ((path_in_lake(row["path"]), int(row["rows"])) for row in sound.collect())
    return {by_path[path]: rows for path, rows in found if path in by_path}


def _parts() -> list[str]:
    """Of a file that ends with a seal and a footer; of another one something that no seal fits."""
    behind = f"({_number('content', -END, 4)} + {END})"  # bytes of the footer and what is behind it
    start = f"CAST(greatest(length - {behind} - {SEAL_SIZE}, 0) AS INT)"  # bytes before the seal
    seal = f"substring(content, {start} + 1, {SEAL_SIZE})"
    return [
        f"{seal} AS seal",
        f"substring({seal}, 1, {len(MAGIC)}) AS magic",
        f"crc32(substring({seal}, 1, {SEAL_SIZE - 4})) AS seal_crc",
        f"crc32(substring(content, 1, {start})) AS data_crc",
        f"crc32(substring(content, {start} + {SEAL_SIZE} + 1)) AS footer_crc",
    ]


def _number(binary: str, begin: int, size: int) -> str:
    """An expression: the unsigned number, lowest byte first, in so many bytes from the one numbered `begin`."""
    digits = f"hex(substring({binary}, {begin}, {size}))"
    turned = ", ".join(f"substring({digits}, {2 * byte - 1}, 2)" for byte in range(size, 0, -1))
    return f"CAST(conv(concat({turned}), 16, 10) AS BIGINT)"
