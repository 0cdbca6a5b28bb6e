"""What a day of the lake has, and what is wrong with it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from queues.lake.files import DayFiles, Gap, count_rows, list_days, read_batches, read_day
from queues.lake.lines import Entries
from queues.lake.names import EntryId, drained_name
from queues.lake.schema import COLUMNS, NAMED_BY, arrow_schema
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import Writer

DAY = date(2030, 3, 17)
NOON_MS = int(datetime(2030, 3, 17, 12, tzinfo=UTC).timestamp() * 1000)
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "my lake")


def write(url: str, *times: int, pool: str = "default") -> int:
    first, last = EntryId(times[0], 0), EntryId(times[-1], 0)
    batch = Entries(
        [b"%d-0" % ms for ms in times],
        [b"%d" % ms for ms in times],
        [b"shop/orders"] * len(times),
        [b"published\tjob\t\t\t\t5\t\t"] * len(times),
    )
    return Writer(url, pool).write(drained_name(pool, 0, first, last), batch)


def test_a_lake_that_is_not_there_yet_has_nothing(url: str) -> None:
    assert read_day(url, DAY) == DayFiles(live=(), corrupt=(), gaps=())


def test_a_day_has_the_files_of_its_hours_and_no_others(url: str) -> None:
    write(url, NOON_MS, NOON_MS + 1, NOON_MS + HOUR_MS, NOON_MS + DAY_MS, NOON_MS - DAY_MS)

    day = read_day(url, DAY)

    assert [file.rows for file in day.live] == [2, 1]
    path = Path(url) / "date=2030-03-17/hour=12"
    (file,) = path.iterdir()
    assert day.live[0].url == f"file://{file}"
    assert day.live[0].size == file.stat().st_size


def test_anybody_can_read_it_by_its_directories(url: str) -> None:
    write(url, NOON_MS, NOON_MS + HOUR_MS, NOON_MS + DAY_MS)

    found = duckdb.sql(
        f"select date::varchar, hour, queue, epoch_ms(\"at\"), size from read_parquet('{url}/date=*/hour=*/*.parquet',"
        " hive_partitioning = true) order by 4"
    )

    assert found is not None
    assert found.fetchall() == [
        ("2030-03-17", 12, "orders", NOON_MS, 5),
        ("2030-03-17", 13, "orders", NOON_MS + HOUR_MS, 5),
        ("2030-03-18", 12, "orders", NOON_MS + DAY_MS, 5),
    ]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(url: str) -> None:
    with pytest.raises(LakeError, match="a bytes-like object is required"):
        Storage(url).put("date=2030-03-17/a.parquet", "no bytes")  # type: ignore[arg-type]

    assert [path for path in Path(url).rglob("*") if path.is_file()] == []


def test_gaps_belong_to_the_days_they_touch(url: str) -> None:
    gaps = [
        Gap(pool="p", partition=1, dropped=5, from_ms=NOON_MS - DAY_MS, until_ms=NOON_MS),
        Gap(pool="p", partition=2, dropped=6, from_ms=None, until_ms=NOON_MS + 1),
        Gap(pool="p", partition=1, dropped=7, from_ms=NOON_MS - DAY_MS, until_ms=NOON_MS + DAY_MS),
        Gap(pool="p", partition=1, dropped=8, from_ms=NOON_MS + DAY_MS, until_ms=NOON_MS + DAY_MS + 1),
    ]
    for gap in gaps:
        Writer(url, gap.pool).write_gap(gap)
        Writer(url, gap.pool).write_gap(gap)

    def dropped(day: int) -> list[int]:
        return sorted(gap.dropped for gap in read_day(url, date(2030, 3, day)).gaps)

    assert [dropped(day) for day in (15, 16, 17, 18, 19)] == [[], [5, 7], [5, 6, 7], [7, 8], []]
    assert [asdict(gap) for gap in read_day(url, DAY).gaps if gap.partition == 2] == [asdict(gaps[1])]


def test_a_gap_that_cannot_be_read_is_named(url: str) -> None:
    Writer(url, "p").write_gap(Gap(pool="p", partition=1, dropped=5, from_ms=NOON_MS, until_ms=NOON_MS))
    (path,) = (Path(url) / "_gaps").iterdir()
    path.write_text("{}")

    day = read_day(url, DAY)

    assert day.gaps == ()
    ((where, reason, _),) = day.corrupt
    assert where == f"file://{path}"
    assert "not a gap" in reason


def test_days_of_a_lake_are_its_directories_of_days(url: str) -> None:
    assert list_days(url) == []
    write(url, NOON_MS, NOON_MS - DAY_MS)
    for name in ("_gaps", "date=nonsense", "date=20300318", "2030-03-18"):
        (Path(url) / name).mkdir()

    assert list_days(url) == [date(2030, 3, 16), DAY]


def test_a_manifest_that_cannot_be_read_is_named(url: str) -> None:
    write(url, NOON_MS)
    (Path(url) / "date=2030-03-17/hour=12" / f"_compact-{'a' * 20}.json").write_text("no JSON")

    with pytest.raises(LakeError, match="not a manifest"):
        read_day(url, DAY)


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")

    with pytest.raises(LakeError, match=f"{tmp_path}/lake"):
        write(str(tmp_path / "lake"), NOON_MS)


@pytest.mark.parametrize("url", ["nosuch://bucket/lake", "gs://bucket/lake"])
def test_a_file_system_that_is_not_there_is_named(url: str) -> None:
    with pytest.raises(LakeError, match=url):
        Storage(url)


def test_every_column_says_what_it_means_and_those_that_name_an_event_are_never_null() -> None:
    assert [column.name for column in COLUMNS] == arrow_schema().names
    assert all(column.meaning for column in COLUMNS)
    assert not any(column.nullable for column in COLUMNS if column.name in NAMED_BY)


def test_docs_list_the_columns() -> None:
    text = (Path(__file__).parents[2] / "docs" / "lake.md").read_text()
    listed = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `") and "` | " in line]

    assert [name for name in listed if name in arrow_schema().names] == arrow_schema().names


def test_no_flipped_bit_of_a_file_goes_unnoticed(url: str) -> None:
    """Whatever is read without an error is what was written."""
    storage = Storage(url)
    times = range(NOON_MS, NOON_MS + 200)
    ids = [b"%d-0" % ms for ms in times]
    lines = [b"published\tj%d\t\t\t\t%d\t\t" % (ms, ms % 7) for ms in times]
    name = drained_name("p", 0, EntryId(times[0], 0), EntryId(times[-1], 0))
    Writer(url, "p").write(name, Entries(ids, [b"%d" % ms for ms in times], [b"shop/orders"] * len(times), lines))
    (file,) = Path(url).rglob("*.parquet")
    path, sound = str(file.relative_to(url)), file.read_bytes()

    def read() -> Any:
        count_rows(storage, path)
        return pa.Table.from_batches(list(read_batches(storage, path, rows=1_000))).cast(arrow_schema())

    written, unnoticed = read(), []
    for at in range(0, len(sound), 5):
        file.write_bytes(sound[:at] + bytes([sound[at] ^ 1 << at % 8]) + sound[at + 1 :])
        with suppress(LakeError):
            if not read().equals(written):
                unnoticed.append(at)
    assert unnoticed == []
