"""docs/data/views.sql: the files that it reads are those that count, and its rows tell what happened to jobs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queues.lake.compact import compact_day
from queues.lake.files import hour_folders, read_hour
from queues.lake.names import EntryId, compacted_name, drained_name, manifest_name
from queues.lake.schema import arrow_schema
from queues.lake.storage import Storage
from tests.package.wheel import ROOT
from tests.support.reports import at, event, write_events

VIEWS = (ROOT / "docs" / "data" / "views.sql").read_text(encoding="utf-8")
DAY = date(2026, 11, 20)
HOUR = f"date={DAY}/hour=16"
NOON = at(DAY, 12).replace(tzinfo=None)  # views tell UTC without saying so


def open_lake(lake: Path, **variables: Any) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, value in {"lake": str(lake), **variables}.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])
    connection.execute(VIEWS)
    return connection


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    answer = connection.execute(query)
    names = [one[0] for one in answer.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def entry(number: int) -> EntryId:
    return EntryId(1_795_190_400_000 + number // 3, number % 3)


RANGES = st.tuples(st.integers(0, 8), st.integers(0, 4)).map(lambda one: (one[0], one[0] + one[1]))
DRAINED = st.builds(
    lambda pool, partition, ends: str(drained_name(pool, partition, entry(ends[0]), entry(ends[1]))),
    st.sampled_from(("default", "_odd", "a-p0001")),
    st.integers(0, 1),
    RANGES,
)
OTHERS = st.sampled_from(("made.parquet", "_made.parquet", ".made.parquet", "made.json", "demo-2026-11-20-16.parquet"))
MERGED = st.lists(DRAINED, min_size=1, max_size=4, unique=True)


@st.composite
def hours(draw: st.DrawFn) -> tuple[set[str], dict[str, list[str]]]:
    """Names of files in an hour's directory, and the sources of manifests, by the compacted file."""
    names = set(draw(st.lists(DRAINED, max_size=6))) | set(draw(st.lists(OTHERS, max_size=3)))
    manifests: dict[str, list[str]] = {}
    for sources in draw(st.lists(MERGED, max_size=3)):
        taken = [*sources, *draw(st.sampled_from(([], list(manifests))))]
        compacted = compacted_name(taken)
        if draw(st.booleans()):
            names.add(compacted)
        if draw(st.booleans()):
            names.add(compacted_name([*taken, "more"]))  # not finished
        manifests[compacted] = taken
        names.update(name for name in sources if draw(st.booleans()))
    return names, manifests


@settings(max_examples=60)
@given(hours())
def test_the_files_that_count_are_those_that_reports_read(hour: tuple[set[str], dict[str, list[str]]]) -> None:
    names, manifests = hour
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / HOUR
        folder.mkdir(parents=True)
        always = Path(place) / "date=2026-11-21" / "hour=00"
        always.mkdir(parents=True)
        pq.write_table(arrow_schema().empty_table(), always / "always.parquet")
        for name in names:
            (folder / name).write_bytes((always / "always.parquet").read_bytes())
        for compacted, sources in manifests.items():
            (folder / manifest_name(compacted)).write_text(json.dumps({"sources": sources, "rows": 0}))

        with open_lake(Path(place)) as connection:
            found = rows(connection, f"FROM lake_files WHERE counts AND date = '{DAY}'")

        assert [Path(row["file"]).name for row in found] == read_hour(Storage(place), HOUR).live


def lives() -> list[dict[str, Any]]:
    """Five jobs: acked at the second delivery; dead and respawned; expired; deleted; completed and then deleted."""
    noon = at(DAY, 12)

    def told(job: str, second: int, kind: str, **fields: Any) -> dict[str, Any]:
        return event(kind, noon + timedelta(seconds=second), job=job, published=noon, **fields)

    return [
        told("A", 0, "published", size=10, wait_ms=500),
        told("A", 1, "consumed", attempt=1, wait_ms=500, worker="w-1", size=10),
        told("A", 3, "failed", attempt=1, run_ms=2_000, worker="w-1", error="no answer"),
        told("A", 4, "consumed", attempt=2, wait_ms=-7, worker="w-2", size=10),
        told("A", 5, "acked", attempt=2, run_ms=1_000, worker="w-2"),
        told("B", 0, "published", size=20, wait_ms=0),
        told("B", 1, "consumed", attempt=1, wait_ms=1_000, worker="w-1", size=20),
        told("B", 61, "lease_lost", attempt=1, run_ms=60_000, worker="w-1"),
        told("B", 61, "dead", attempt=1, error="lease lost", worker="w-1"),
        told("B", 70, "respawned", attempt=1),
        told("C", 0, "published", size=30, wait_ms=0),
        told("C", 90, "expired", attempt=0),
        told("D", 0, "published", size=40, wait_ms=0),
        told("D", 2, "consumed", attempt=1, wait_ms=2_000, size=40),
        told("D", 9, "deleted"),
        told("E", 0, "published", size=50, wait_ms=0),
        told("E", 1, "consumed", attempt=1, wait_ms=1_000, size=50),
        told("E", 2, "acked", attempt=1, run_ms=1_000),
        told("E", 3, "deleted", error="was completed"),
        event("destroyed", noon + timedelta(seconds=99), size=7, attempt=2),
    ]


@pytest.fixture
def lake(tmp_path: Path) -> Iterable[duckdb.DuckDBPyConnection]:
    write_events(tmp_path, lives())
    with open_lake(tmp_path) as connection:
        yield connection


def test_a_job_has_one_row_that_says_how_it_ended(lake: duckdb.DuckDBPyConnection) -> None:
    found = rows(lake, "FROM jobs ORDER BY job")

    told = ("job", "outcome", "deliveries", "failures", "run_ms", "size", "total_ms")
    assert [tuple(row[name] for name in told) for row in found] == [
        ("A", "acked", 2, 1, 3_000, 10, 5_000),
        ("B", None, 1, 0, 60_000, 20, None),
        ("C", "expired", 0, 0, None, 30, 90_000),
        ("D", "deleted", 1, 0, None, 40, 9_000),
        ("E", "acked", 1, 0, 1_000, 50, 2_000),
    ]
    assert found[0]["delay_ms"] == 500
    assert found[0]["published_at"] == NOON
    assert found[1]["ended_at"] is None


def test_a_delivery_has_one_row_with_its_end(lake: duckdb.DuckDBPyConnection) -> None:
    found = rows(lake, "FROM deliveries ORDER BY job, attempt")

    told = ("job", "attempt", "wait_ms", "outcome", "run_ms", "worker", "error")
    assert [tuple(row[name] for name in told) for row in found] == [
        ("A", 1, 500, "failed", 2_000, "w-1", "no answer"),
        ("A", 2, 0, "acked", 1_000, "w-2", None),
        ("B", 1, 1_000, "lease_lost", 60_000, "w-1", None),
        ("D", 1, 2_000, None, None, None, None),
        ("E", 1, 1_000, "acked", 1_000, None, None),
    ]


def test_failures_and_costs_add_up(lake: duckdb.DuckDBPyConnection) -> None:
    failed = [(row["kind"], row["error"]) for row in rows(lake, 'FROM failures ORDER BY "at", kind')]
    (cost,) = rows(lake, "FROM namespace_costs")
    days = {row["queue"]: row for row in rows(lake, "FROM queue_days")}

    assert failed == [("failed", "no answer"), ("dead", "lease lost"), ("lease_lost", "lease lost")]
    assert (cost["jobs"], cost["bytes"], cost["run_s"], cost["busy_s"]) == (5, 150, 2.0, 64.0)
    assert days["emails"]["deleted"] == days[""]["deleted"] == 9
    assert rows(lake, "SELECT begins FROM queue_hours") == [{"begins": NOON}]


def test_only_the_days_that_are_asked_for_are_read(tmp_path: Path) -> None:
    write_events(tmp_path, [event("published", at(DAY + timedelta(days=number)), job="J") for number in range(4)])

    with open_lake(tmp_path, first_day=DAY + timedelta(days=1), last_day=DAY + timedelta(days=2)) as connection:
        days = [row["date"] for row in rows(connection, "SELECT date FROM events ORDER BY date")]

    assert days == [DAY + timedelta(days=1), DAY + timedelta(days=2)]


def test_compaction_changes_no_answer(tmp_path: Path) -> None:
    for part in (lives()[:9], lives()[9:]):
        write_events(tmp_path, part)
    folder = hour_folders(Storage(str(tmp_path)), DAY)[0]
    assert len(read_hour(Storage(str(tmp_path)), folder).live) == 2
    with open_lake(tmp_path) as connection:
        before = rows(connection, "FROM events ORDER BY ALL")
    assert compact_day(str(tmp_path), DAY).hours == 1

    with open_lake(tmp_path) as connection:
        assert rows(connection, "FROM events ORDER BY ALL") == before


def test_gaps_are_told(tmp_path: Path) -> None:
    write_events(tmp_path, lives())
    gap = {"pool": "default", "partition": 3, "dropped": 12, "from_ms": None, "until_ms": 1_795_190_400_000}
    (tmp_path / "_gaps").mkdir()
    (tmp_path / "_gaps" / "default-p0003-000000000000000-001795190400000.json").write_text(json.dumps(gap))

    with open_lake(tmp_path) as connection:
        (found,) = rows(connection, "FROM gaps")

    assert (found["pool"], found["partition"], found["dropped"], found["since"]) == ("default", 3, 12, None)
    assert found["until"] == at(DAY, 16).replace(tzinfo=None)


@pytest.mark.parametrize("files", [[], ["_hidden.parquet"]])
def test_a_place_without_events_is_called_one(tmp_path: Path, files: list[str]) -> None:
    for name in files:
        (tmp_path / HOUR).mkdir(parents=True)
        pq.write_table(pa.table({"x": [1]}), tmp_path / HOUR / name)

    with pytest.raises(duckdb.Error, match="no file with events below"):
        open_lake(tmp_path)
