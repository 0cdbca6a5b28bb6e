"""What a day takes from reports before it: the backlog it begins with, and what is usual."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from . import expected
from .conftest import RunDay
from .made import Event, event, ms, read_table, write_lake


def published(day: str, number: int, **others: Any) -> list[Event]:
    return [
        event("published", ms(f"{day}T10:00") + at, job=f"J{at}", published=ms(day), size=1, **others)
        for at in range(number)
    ]


def acked(day: str, number: int, hour: int = 11) -> list[Event]:
    at = ms(f"{day}T{hour:02d}:00")
    return [event("acked", at, job=f"J{each}", published=at, attempt=1, run_ms=1_000) for each in range(number)]


def make_current(out: Path, day: str, run: str = "one") -> None:
    (out / f"date={day}" / "current.json").write_text(json.dumps({"run": run}))


def backlogs(out: Path, day: str, run: str = "one") -> dict[tuple[str, int | None], tuple[int, bool]]:
    rows = read_table(out, day, "figures", run)
    return {(row["queue"], row["hour"]): (row["backlog"], row["backlog_base_known"]) for row in rows}


def test_a_backlog_goes_on_over_midnight_and_through_days_without_events(run_day: RunDay, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    write_lake(lake, [*published("2026-03-28", 5), *acked("2026-03-28", 2), *acked("2026-03-30", 1)])

    for day in ("2026-03-28", "2026-03-29", "2026-03-30"):
        run_day(lake, out, day)
        make_current(out, day)

    of_namespace = {("", 10): (5, True), ("", 11): (3, True), ("", None): (3, True)}
    assert backlogs(out, "2026-03-28") == {("q", hour): told for (_, hour), told in of_namespace.items()} | of_namespace
    assert backlogs(out, "2026-03-29") == {("q", None): (3, True), ("", None): (3, True)}
    assert backlogs(out, "2026-03-30") == {(queue, hour): (2, True) for queue in ("q", "") for hour in (11, None)}


def test_without_the_report_of_the_day_before_a_day_begins_with_what_it_takes(run_day: RunDay, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    write_lake(lake, [*published("2026-03-27", 1), *acked("2026-03-29", 4, hour=9), *published("2026-03-29", 3)])

    run_day(lake, out, "2026-03-29")

    assert backlogs(out, "2026-03-29") == {
        (queue, hour): (jobs, False) for queue in ("q", "") for hour, jobs in ((9, 0), (10, 3), (None, 3))
    }


def weeks(counts: list[int]) -> list[Event]:
    """A Sunday each: so many jobs published, the last of them on 2026-03-29."""
    days = ["2026-03-01", "2026-03-08", "2026-03-15", "2026-03-22", "2026-03-29"][-len(counts) :]
    return [one for day, number in zip(days, counts, strict=True) for one in published(day, number)]


@pytest.mark.parametrize(
    ("counts", "usual", "spread", "flagged"),
    [
        ([100, 110, 90, 100, 400], 100.0, 7.413, True),
        ([100, 110, 90, 100, 119], 100.0, 7.413, False),  # within a fifth
        ([1, 1, 1, 1, 10], 1.0, 0.0, False),  # too few to speak of
        ([100, 400, 50, 100, 150], 100.0, 37.065, False),  # it always went up and down
        ([100, 100, 400], 100.0, 0.0, False),  # too few weeks
        ([100, 110, 90, 100, 0], 100.0, 7.413, True),  # silent
    ],
)
def test_a_day_is_held_against_the_same_weekday(
    run_day: RunDay, tmp_path: Path, counts: list[int], usual: float, spread: float, flagged: bool
) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    write_figures(out, counts[:-1])
    write_lake(lake, weeks(counts))

    run_day(lake, out, "2026-03-29")

    rows = {(row["queue"], row["figure"]): row for row in read_table(out, "2026-03-29", "changes")}
    for queue in ("q", ""):
        row = rows[queue, "published"]
        assert (row["value"], row["usual"], row["weeks"]) == (counts[-1], usual, len(counts) - 1)
        assert row["spread"] == pytest.approx(spread)
        assert row["flagged"] is flagged


def write_figures(out: Path, counts: list[int]) -> None:
    """Reports of past Sundays, with what a day takes from them."""
    days = ["2026-03-01", "2026-03-08", "2026-03-15", "2026-03-22"][-len(counts) :]
    for day, number in zip(days, counts, strict=True):
        folder = out / f"date={day}" / "run=one" / "figures.parquet"
        folder.mkdir(parents=True)
        nothing = {
            "acked": 0,
            "failed": 0,
            "dead": 0,
            "success_rate": None,
            "wait_p95": None,
            "run_p95": None,
            "hour": None,
        }
        rows = [
            dict(zip(expected.PLACE, ("default", "ns", queue), strict=True)) | nothing | {"published": number}
            for queue in ("q", "")
        ]
        types = {"success_rate": pa.float64()} | dict.fromkeys(("pool", "namespace", "queue"), pa.string())
        schema = pa.schema([(name, types.get(name, pa.int32() if name == "hour" else pa.int64())) for name in rows[0]])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "part.parquet")
        make_current(out, day)
