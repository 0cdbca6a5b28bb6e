"""The Iceberg table has what the lake has: each event once, whatever is repeated, killed, late or damaged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from queues.lake import iceberg, schema
from queues.lake.compact import compact_day
from queues.lake.files import read_day
from queues.lake.iceberg import DAY as DAY_KEY
from queues.lake.iceberg import (
    FINGERPRINT,
    LEFT_OUT,
    OWN_CATALOG,
    IcebergTarget,
    export_day,
    exported_days,
    open_table,
)
from queues.lake.schema import COLUMNS, Column
from queues.lake.storage import LakeError
from tests.lake.old_lakes import DAY as OLD_DAY
from tests.lake.old_lakes import LAKES
from tests.support.reports import at, event, write_events

DAY = date(2026, 11, 20)
NEXT = DAY + timedelta(days=1)


@pytest.fixture
def target(tmp_path: Path) -> IcebergTarget:
    return IcebergTarget(catalog=OWN_CATALOG, warehouse=str(tmp_path / "iceberg"), table="taskq.events")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two days: three files of two hours, and one."""
    write(tmp_path / "lake", DAY, "a", 0, count=3)
    write(tmp_path / "lake", DAY, "b", 0, minutes=30)
    write(tmp_path / "lake", DAY, "c", 23)
    write(tmp_path / "lake", NEXT, "d", 0)
    return tmp_path / "lake"


def write(lake: Path, day: date, job: str, hour: int, *, count: int = 1, **more: int) -> None:
    """A file of its own: events of jobs whose names begin alike."""
    moment = at(day, hour, **more)
    rows = [event("consumed", moment, job=f"{job}{n}", published=moment, attempt=1, wait_ms=n) for n in range(count)]
    write_events(lake, rows)


def jobs_of(target: IcebergTarget) -> list[str]:
    return sorted(open_table(target).scan(selected_fields=("job",)).to_arrow()["job"].to_pylist())


def snapshots(target: IcebergTarget) -> list[str]:
    """The days of all snapshots, in order."""
    return [snapshot.summary[DAY_KEY] for snapshot in open_table(target).metadata.snapshots]


def data_files(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "iceberg").rglob("data/**/*.parquet")}


def test_each_day_is_one_snapshot_that_says_what_it_was_made_of(lake: Path, target: IcebergTarget) -> None:
    done = [export_day(str(lake), day, target) for day in (DAY, NEXT)]

    assert [(one.day, one.rows, one.files) for one in done] == [(DAY, 5, 3), (NEXT, 1, 1)]
    assert jobs_of(target) == ["a0", "a1", "a2", "b0", "c0", "d0"]
    told = exported_days(open_table(target))
    assert set(told) == {f"{DAY}", f"{NEXT}"}
    assert len(told[f"{DAY}"][FINGERPRINT]) == 64
    assert told[f"{DAY}"][LEFT_OUT] == "0"


def test_rows_are_those_of_the_lake(lake: Path, target: IcebergTarget) -> None:
    export_day(str(lake), DAY, target)
    names = [column.name for column in COLUMNS]

    table = open_table(target).scan().to_arrow()
    found = sorted(table.select(names).to_pylist(), key=lambda row: str(row["job"]))

    told = [row for file in read_day(str(lake), DAY).live for row in pq.read_table(file.url[7:]).to_pylist()]
    wanted = sorted(({name: row[name] for name in names} for row in told), key=lambda row: str(row["job"]))
    assert found == wanted


def test_the_same_day_again_is_no_snapshot(lake: Path, target: IcebergTarget, tmp_path: Path) -> None:
    export_day(str(lake), DAY, target)
    before = data_files(tmp_path)

    again = export_day(str(lake), DAY, target)

    assert (again.snapshot, again.rows) == (None, 5)
    assert snapshots(target) == [f"{DAY}"]
    assert data_files(tmp_path) == before


def test_late_events_and_compaction_replace_their_day_only(lake: Path, target: IcebergTarget) -> None:
    for day in (DAY, NEXT):
        export_day(str(lake), day, target)
    write(lake, DAY, "late", 5)
    assert export_day(str(lake), DAY, target).rows == 6
    assert compact_day(str(lake), DAY).hours == 1
    assert export_day(str(lake), DAY, target).rows == 6

    assert jobs_of(target) == ["a0", "a1", "a2", "b0", "c0", "d0", "late0"]
    assert snapshots(target) == [f"{DAY}", f"{NEXT}", f"{DAY}", f"{DAY}"]


def test_an_earlier_snapshot_still_shows_what_was_there(lake: Path, target: IcebergTarget) -> None:
    first = export_day(str(lake), DAY, target)
    write(lake, DAY, "late", 5)
    export_day(str(lake), DAY, target)

    then = open_table(target).scan(snapshot_id=first.snapshot).to_arrow()

    assert "late0" not in then["job"].to_pylist()
    assert len(then) == 5


@pytest.mark.parametrize("at_step", ["_write", "_commit"])
def test_a_run_that_is_cut_off_leaves_the_table_as_it_was(
    lake: Path, target: IcebergTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_step: str
) -> None:
    """After the data files, before the snapshot: by an error while writing, or by a kill."""
    real = getattr(iceberg, at_step)

    def cut_off(*args: Any) -> Any:
        if at_step == "_write":
            real(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(iceberg, at_step, cut_off)
        with pytest.raises(KeyboardInterrupt):
            export_day(str(lake), DAY, target)
    assert jobs_of(target) == []
    assert bool(data_files(tmp_path)) == (at_step == "_commit")

    export_day(str(lake), DAY, target)

    assert jobs_of(target) == ["a0", "a1", "a2", "b0", "c0"]


@pytest.mark.parametrize("has_day", [False, True])
def test_of_two_at_the_same_time_one_is_refused_and_finds_the_others_work(
    lake: Path, target: IcebergTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_day: bool
) -> None:
    if has_day:
        export_day(str(lake), DAY, target)
        write(lake, DAY, "late", 5)
    real = iceberg._commit
    runs: list[Any] = []

    def after_the_other(*args: Any) -> None:
        if not runs:
            runs.append(None)  # the other one commits as usual
            runs[0] = export_day(str(lake), DAY, target)
        real(*args)

    monkeypatch.setattr(iceberg, "_commit", after_the_other)
    done = export_day(str(lake), DAY, target)

    assert runs[0].snapshot is not None
    assert done.snapshot is None
    assert jobs_of(target) == ["a0", "a1", "a2", "b0", "c0", *(["late0"] if has_day else [])]
    named = {task.file.file_path.rpartition("/")[2] for task in open_table(target).scan().plan_files()}
    assert len(data_files(tmp_path) - named) == has_day  # of the earlier snapshot


def test_a_damaged_file_costs_its_own_rows_and_is_named(lake: Path, target: IcebergTarget) -> None:
    victim = next(path for path in lake.rglob("*.parquet") if "hour=23" in str(path))
    good = victim.read_bytes()
    victim.write_bytes(good[: len(good) // 2])

    done = export_day(str(lake), DAY, target)

    assert [(file.url.endswith(victim.name), bool(file.reason)) for file in done.damaged] == [(True, True)]
    assert jobs_of(target) == ["a0", "a1", "a2", "b0"]
    assert exported_days(open_table(target))[f"{DAY}"][LEFT_OUT] == "1"

    victim.write_bytes(good)
    assert export_day(str(lake), DAY, target).damaged == ()
    assert jobs_of(target) == ["a0", "a1", "a2", "b0", "c0"]


def test_damage_that_only_reading_finds_costs_no_more(tmp_path: Path, target: IcebergTarget) -> None:
    """A flipped byte in a page: the footer is sound, so the file is begun before it is left out."""
    from queues.lake.writer import parquet_bytes

    lake = tmp_path / "lake"
    write(lake, DAY, "a", 0)
    write(lake, DAY, "bad", 1, count=200)
    victim = next(path for path in lake.rglob("*.parquet") if "hour=01" in str(path))
    content = bytearray(parquet_bytes(pq.read_table(victim)))
    content[len(content) // 4] ^= 0xFF
    victim.write_bytes(content)
    assert len(read_day(str(lake), DAY).live) == 2

    done = export_day(str(lake), DAY, target)

    assert [file.url.endswith(victim.name) for file in done.damaged] == [True]
    assert done.rows == 1
    assert jobs_of(target) == ["a0"]


def test_a_day_that_the_lake_has_deleted_stays_in_the_table(lake: Path, target: IcebergTarget) -> None:
    for day in (DAY, NEXT):
        export_day(str(lake), day, target)
    for path in (lake / f"date={DAY}").rglob("*.parquet"):
        path.unlink()

    assert export_day(str(lake), DAY, target).snapshot is None
    assert export_day(str(lake), date(2026, 1, 1), target).snapshot is None

    assert jobs_of(target) == ["a0", "a1", "a2", "b0", "c0", "d0"]


@pytest.mark.parametrize("version", sorted(path.name for path in LAKES.iterdir()))
def test_lakes_of_all_versions_are_taken(version: str, target: IcebergTarget) -> None:
    lake = LAKES / version

    done = export_day(str(lake), OLD_DAY, target)

    assert done.damaged == ()
    assert done.rows == read_day(str(lake), OLD_DAY).rows > 0
    assert open_table(target).scan().to_arrow().num_rows == done.rows


@pytest.fixture
def more_columns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A later taskq, whose events have a column more."""
    columns = (*COLUMNS, Column("task", "string", True, "name of the task"))
    for module in (schema, iceberg):
        monkeypatch.setattr(module, "COLUMNS", columns)
    schema.arrow_schema.cache_clear()
    yield
    monkeypatch.undo()
    schema.arrow_schema.cache_clear()


def test_a_new_column_of_the_lake_is_added_to_the_table(
    lake: Path, target: IcebergTarget, request: pytest.FixtureRequest
) -> None:
    export_day(str(lake), DAY, target)

    request.getfixturevalue("more_columns")
    export_day(str(lake), NEXT, target)

    table = open_table(target)
    assert "task" in [field.name for field in table.schema().fields]
    assert set(table.scan().to_arrow()["task"].to_pylist()) == {None}
    assert len(jobs_of(target)) == 6


def test_a_table_of_another_layout_is_not_touched(lake: Path, target: IcebergTarget) -> None:
    export_day(str(lake), DAY, target)
    table = open_table(target)
    with table.update_spec() as spec:
        spec.add_identity("queue")

    with pytest.raises(LakeError, match=r"not partitioned by day\(at\) alone"):
        export_day(str(lake), NEXT, target)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"table": "events"}, "expected NAMESPACE.NAME"),
        ({"catalog": "nowhere"}, "cannot be opened"),
        ({"warehouse": "s3://bucket/place"}, "is a local file"),
    ],
)
def test_what_cannot_be_opened_is_called_so(lake: Path, tmp_path: Path, change: dict[str, str], words: str) -> None:
    fields = {"catalog": OWN_CATALOG, "warehouse": str(tmp_path / "iceberg"), "table": "taskq.events"} | change

    with pytest.raises(LakeError, match=words):
        export_day(str(lake), DAY, IcebergTarget(**fields))


def test_without_pyiceberg_the_error_says_how_to_get_it(target: IcebergTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyiceberg.catalog", None)

    with pytest.raises(LakeError, match=r"pip install 'taskq\[iceberg\]'"):
        open_table(target)


def test_the_summary_is_plain_text(lake: Path, target: IcebergTarget) -> None:
    """Other engines read it."""
    export_day(str(lake), DAY, target)
    (metadata,) = (open_table(target).metadata_location,)

    document = json.loads(Path(metadata.removeprefix("file://")).read_text())

    summary = document["snapshots"][-1]["summary"]
    assert summary[DAY_KEY] == f"{DAY}"
    assert summary["added-records"] == "5"
