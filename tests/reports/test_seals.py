"""Seals that executors check: what they call sound is sound, and the rest is looked at one file at a time."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from queues.lake import files as lake_files
from queues.lake.files import read_day
from queues.lake.storage import Entry, Storage
from queues.reports import seals
from queues.reports.session import SparkOptions, fit_partitions
from queues.reports.session import _anywhere as settings_of

from .made import event, ms, write_lake

DAY = "2026-03-29"
FILES = 210


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many files with one to three events each."""
    lake = tmp_path_factory.mktemp("seals") / "a {b} lake"
    for number in range(FILES):
        at = ms(f"{DAY}T{number % 24:02d}:30") + number
        rows = [event("published", at + each, job=f"01J{number}", size=each) for each in range(1 + number % 3)]
        write_lake(lake, rows, name=f"made-{number}.parquet")
    return lake


def test_they_agree_with_what_is_read_here_and_leave_the_damaged_ones(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(17)
    paths = sorted(lake.glob("date=*/hour=*/*.parquet"))
    old, foreign, *damaged = dice.sample(paths, 14)
    kept = {path: path.read_bytes() for path in (old, foreign, *damaged)}
    pq.write_table(pq.ParquetFile(old).read().replace_schema_metadata(None), old)  # without a seal
    foreign.write_bytes(b"no Parquet")
    for path in damaged:
        content = bytearray(kept[path])
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        path.write_bytes(bytes(content))
    by_driver = read_day(str(lake), date.fromisoformat(DAY))
    looked_at: list[str] = []
    count_rows = lake_files.count_rows

    def count(storage: Storage, path: str) -> int:
        looked_at.append(path.rpartition("/")[2])
        return count_rows(storage, path)

    monkeypatch.setattr(lake_files, "count_rows", count)
    by_executors = read_day(
        str(lake), date.fromisoformat(DAY), check_seals=lambda files: seals.sound_rows(spark, files)
    )

    assert by_executors == by_driver
    assert sorted(looked_at) == sorted(path.name for path in kept)
    for path, content_ in kept.items():
        path.write_bytes(content_)


def test_a_file_that_is_gone_or_new_is_left_to_the_next_look(spark: SparkSession, lake: Path) -> None:
    files = {f"file://{path}": entry_of(path) for path in lake.glob("date=*/hour=*/*.parquet")}
    gone, unknown = next(iter(files)).replace(".parquet", "-gone.parquet"), next(iter(files))
    size = files.pop(unknown)

    found = seals.sound_rows(spark, {**files, gone: size})

    assert set(found) == set(files)


def test_few_or_large_files_are_left_to_the_driver(spark: SparkSession, lake: Path) -> None:
    files = {f"file://{path}": entry_of(path) for path in lake.glob("date=*/hour=*/*.parquet")}
    few = dict(list(files.items())[: seals.FILES_MIN - 1])
    assert seals.sound_rows(spark, few) == {}
    large = {url: entry._replace(size=seals.SIZE_MAX + 1) for url, entry in files.items()}
    assert seals.sound_rows(spark, large) == {}


def test_a_local_master_looks_itself(spark: SparkSession) -> None:
    assert seals.executors_check(spark, master="local[*]") is None
    assert seals.executors_check(spark, master="spark://there:7077") is not None


def entry_of(path: Path) -> Entry:
    return Entry(name=path.name, size=path.stat().st_size, is_dir=False, age_s=None)


@pytest.mark.parametrize(
    ("data_bytes", "partitions"), [(0, "8"), (1 << 30, "64"), ((1 << 30) + 1, "65"), (1 << 40, "2000")]
)
def test_a_clusters_partitions_follow_the_bytes_of_the_day(
    spark: SparkSession, data_bytes: int, partitions: str
) -> None:
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    fit_partitions(spark, data_bytes=data_bytes)
    assert spark.conf.get(name) == before, "a local master keeps its own"

    for key, value in settings_of(SparkOptions(master="spark://there:7077")).items():
        if key.startswith("spark.taskq."):
            spark.conf.set(key, value)
    try:
        fit_partitions(spark, data_bytes=data_bytes)
        assert spark.conf.get(name) == partitions
    finally:
        spark.conf.unset("spark.taskq.fitPartitions")
        spark.conf.set(name, str(before))


def test_partitions_that_somebody_has_set_stay() -> None:
    options = SparkOptions(master="spark://there:7077", conf={"spark.sql.shuffle.partitions": "7"})
    assert not [key for key in settings_of(options) if key.startswith("spark.taskq.")]
