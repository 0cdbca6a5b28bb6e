"""Lakes of all versions of the schema are read alike, and a new column condemns no old file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queues.lake import schema, writer
from queues.lake.compact import NEWER, compact_day
from queues.lake.files import read_batches, read_day
from queues.lake.footers import read_footer
from queues.lake.schema import COLUMNS, NAMED_BY, VERSION, VERSIONS, Column
from queues.lake.storage import Storage
from tests.lake.old_lakes import DAY, LAKES, POOL, entries

NAMES = sorted(path.name for path in LAKES.iterdir())
FIELDS = ("kind", "job", "attempt", "wait_ms", "run_ms", "size", "worker", "error")
PUBLISHED = 1_795_193_856_000
"""As the ids of the jobs say."""


def expected() -> list[dict[str, Any]]:
    """The events that each lake holds, times in ms."""
    rows: list[dict[str, Any]] = []
    for partition, at, number, queue, lines in entries():
        for place, line in enumerate(lines):
            said = dict(zip(FIELDS, (word or None for word in line.split("\t")), strict=True))
            numbers = {name: int(said[name] or 0) for name in ("attempt", "wait_ms", "run_ms", "size") if said[name]}
            name = {"partition": partition, "entry_ms": at, "entry_seq": number, "line": place}
            where = {"pool": POOL, "namespace": queue.split("/")[0], "queue": queue.split("/")[1], "demo": False}
            times = {"at": at, "published": PUBLISHED if said["job"] else None}
            rows.append({**said, **numbers, **name, **where, **times})
    return by_name(rows)


def by_name(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: tuple(row[name] for name in NAMED_BY))


def read(lake: Path) -> list[dict[str, Any]]:
    """All events of the day, times in ms; fails if a file is damaged."""
    storage, day = Storage(str(lake)), read_day(str(lake), DAY)
    assert day.corrupt == ()
    paths = [file.url.removeprefix(storage.url("")).lstrip("/") for file in day.live]
    batches = [batch for path in paths for batch in read_batches(storage, path, rows=5)]
    table = pa.Table.from_batches(batches)
    for name in ("at", "published"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.int64()))
    return by_name(table.to_pylist())


@pytest.fixture
def more_columns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A schema with a nullable column more."""
    monkeypatch.setattr(schema, "COLUMNS", (*COLUMNS, Column("task", "string", True, "name of the task")))
    schema.arrow_schema.cache_clear()
    yield
    monkeypatch.undo()
    schema.arrow_schema.cache_clear()


def test_docs_list_the_versions() -> None:
    text = (Path(__file__).parents[2] / "docs" / "lake.md").read_text()

    assert [f"| {version} | {brought} |" in text for version, brought in VERSIONS.items()] == [True] * VERSION


def test_the_version_that_is_written_has_a_lake_here() -> None:
    assert f"version-{VERSION}" in NAMES
    assert list(VERSIONS) == list(range(1, VERSION + 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_lake_of_an_earlier_version_is_read(name: str) -> None:
    assert read(LAKES / name) == expected()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("more_columns")
def test_a_nullable_column_that_a_file_lacks_is_null(name: str) -> None:
    assert read(LAKES / name) == [row | {"task": None} for row in expected()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("more_columns")
def test_compaction_makes_old_files_one_of_the_newest_version(name: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(LAKES / name, lake)
    (file,) = lake.glob("*/hour=18/*.parquet")
    shutil.copy(file, file.with_name("again.parquet"))

    counts = compact_day(str(lake), DAY)

    assert (counts.files_before, counts.files_after, counts.problems) == (2, 1, ())
    (merged,) = lake.glob("*/hour=18/*.parquet")
    with merged.open("rb") as opened:
        assert read_footer(opened).version == VERSION
    names = pq.read_schema(merged).names
    assert names == [*(column.name for column in COLUMNS), "task"]
    assert {row["task"] for row in read(lake)} == {None}


def test_duckdb_reads_files_of_all_versions_together(tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copytree(LAKES / name, tmp_path / name)

    query = (
        "select count(*), sum(entry_seq), count(distinct job)"
        f" from read_parquet('{tmp_path}/*/date=*/hour=*/*.parquet', hive_partitioning = true, union_by_name = true)"
    )

    rows = expected()
    jobs = len({row["job"] for row in rows if row["job"]})
    with duckdb.connect() as connection:
        found = connection.sql(query).fetchall()
    assert found == [(len(NAMES) * len(rows), len(NAMES) * sum(row["entry_seq"] for row in rows), jobs)]


def newer_file(path: Path, table: pa.Table) -> None:
    """A file of a later version than this one."""
    with pytest.MonkeyPatch.context() as patch, path.open("wb") as file:
        patch.setattr(writer, "VERSION", VERSION + 1)
        patch.setattr(writer, "arrow_schema", lambda: table.schema)
        with writer.parquet_writer(file) as parquet:
            parquet.write_table(table)


def test_a_file_of_a_later_version_is_read_and_not_rewritten(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(LAKES / f"version-{VERSION}", lake)
    (file,) = lake.glob("*/hour=18/*.parquet")
    table = pq.ParquetFile(file).read()
    newer = file.with_name("newer.parquet")
    newer_file(newer, table.append_column("task", pa.array(["greet"] * len(table))))
    content = newer.read_bytes()
    shutil.copy(file, file.with_name("third.parquet"))

    counts = compact_day(str(lake), DAY)

    assert (counts.files_before, counts.problems) == (2, ((f"file://{newer}", NEWER),))
    assert newer.read_bytes() == content
    assert len(read(lake)) == len(expected()) + 2 * len(table)


def written(path: Path, table: pa.Table) -> str | None:
    """What `read_day` has against a file with this table and without a version."""
    path.parent.mkdir(parents=True)
    pq.write_table(table, path)
    found = [file.reason for file in read_day(str(path.parents[2]), DAY).corrupt]
    return found[0] if found else None


def test_what_is_no_older_version_is_named(tmp_path: Path) -> None:
    (file,) = (LAKES / "version-2").glob("*/hour=18/*.parquet")
    table = pq.ParquetFile(file).read()
    texts = table.set_column(table.schema.get_field_index("size"), "size", table["size"].cast(pa.string()))
    renamed = table.rename_columns([name.replace("worker", "wosker") for name in table.schema.names])
    hour = f"date={DAY}/hour=18/a.parquet"

    reasons = {
        "not nullable": written(tmp_path / "1" / hour, table.drop_columns(["queue"])),
        "nullable": written(tmp_path / "2" / hour, table.drop_columns(["worker"])),
        "other type": written(tmp_path / "3" / hour, texts),
        "damaged name": written(tmp_path / "4" / hour, renamed),
    }

    assert reasons == {
        "not nullable": "has no column queue",
        "nullable": None,
        "other type": "column size is string, not int64",
        "damaged name": "has no column worker, but a column 'wosker', which is unknown",
    }
