"""Demo data: lives that make sense, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from queues.lake.demo import DemoPlan, DemoThereError, demo_hours, write_demo
from queues.lake.demo_shape import QUEUES
from queues.lake.files import read_day
from queues.lake.schema import NAMED_BY, arrow_schema
from queues.lake.storage import LakeError
from tests.support.rows import in_one_test

from .made import ask_duckdb

PLAN = DemoPlan(first=date(2026, 3, 24), days=3, jobs_per_day=2_000)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("demo")
    write_demo(str(place), PLAN, tell=lambda day, events: None)
    return place


@pytest.fixture(scope="module")
def events(lake: Path) -> pa.Table:
    return pa.concat_tables(pq.ParquetFile(path).read() for path in sorted(lake.glob("date=*/*/*.parquet")))


def test_the_lake_takes_all_of_it_as_its_own(lake: Path, events: pa.Table) -> None:
    days = [read_day(str(lake), PLAN.first + timedelta(days=number)) for number in range(PLAN.days)]

    assert sum(day.rows for day in days) == len(events) > 3 * PLAN.jobs_per_day
    assert [day.corrupt for day in days] == [()] * PLAN.days
    assert events.schema == arrow_schema()
    assert set(events["queue"].to_pylist()) == {queue.name for queue in QUEUES}
    wrong = 'date <> strftime("at", \'%Y-%m-%d\')::date or hour::int <> extract(hour from "at") or not demo'
    assert ask_duckdb(lake, f"select count(*) from {{day}} where {wrong}") == [(0,)]


def test_events_are_named_once(lake: Path) -> None:
    assert ask_duckdb(lake, f"select count(*) - count(distinct ({', '.join(NAMED_BY)})) from {{day}}") == [(0,)]


def test_each_job_lives_a_life_that_makes_sense(events: pa.Table) -> None:
    lives: dict[str, list[dict[str, Any]]] = {}
    for one in events.select(["job", "kind", "at", "attempt", "published", "wait_ms", "run_ms", "queue"]).to_pylist():
        lives.setdefault(one["job"], []).append(one)
    for life in lives.values():
        kinds = Counter(one["kind"] for one in life)
        assert life[0]["kind"] == "published"
        assert len({(one["queue"], one["published"]) for one in life}) == 1
        assert life[0]["at"] == life[0]["published"]
        assert kinds["acked"] + kinds["dead"] + kinds["expired"] <= 1
        assert [one["attempt"] for one in life if one["kind"] == "consumed"] == list(range(1, kinds["consumed"] + 1))
        ends = kinds["acked"] + kinds["failed"] + kinds["lease_lost"]
        assert kinds["consumed"] - ends in (0, 1)
        if kinds["acked"] + kinds["dead"] + kinds["expired"]:
            assert kinds["consumed"] == ends
    assert {"expired", "dead", "lease_lost", "ready", "failed"} <= {
        one["kind"] for life in lives.values() for one in life
    }


def first_days(plan: DemoPlan, number: int) -> pa.Table:
    """What is made of a plan's first days; of the others nothing is."""
    end = plan.first + timedelta(days=number)
    return pa.concat_tables(table for day, _, table in takewhile(lambda hour: hour[0] < end, demo_hours(plan)))


def test_the_same_seed_makes_the_same_events_and_another_one_others(events: pa.Table) -> None:
    again, other = first_days(PLAN, 1), first_days(replace(PLAN, seed=2), 1)

    assert len(again) > PLAN.jobs_per_day
    assert again.schema == arrow_schema()
    assert again.equals(events.slice(0, len(again)))
    assert set(other["job"].to_pylist()).isdisjoint(events["job"].to_pylist())


def test_days_that_have_demo_data_are_refused(lake: Path) -> None:
    day = PLAN.first + timedelta(days=1)
    with pytest.raises(DemoThereError, match=f"{day}"):
        write_demo(str(lake), DemoPlan(first=day, days=1, jobs_per_day=10), tell=print)


def test_a_day_that_cannot_be_written_whole_leaves_none_of_its_hours(tmp_path: Path) -> None:
    (tmp_path / f"date={PLAN.first}").mkdir()
    (tmp_path / f"date={PLAN.first}" / "hour=23").write_bytes(b"no directory")

    with pytest.raises(LakeError, match="hour=23"):
        write_demo(str(tmp_path), replace(PLAN, jobs_per_day=200), tell=lambda day, events: None)

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["hour=23"]


@in_one_test(
    ("arguments", "words"),
    [
        (("--days", "0"), "must be at least 1"),
        (("--jobs-per-day", "0"), "must be at least 1"),
        (("--days", "900000"), "before the year 1"),
        (("--days", "9999999999"), "before the year 1"),
        (("--days", "1", "--until", f"{PLAN.first}"), f"There is demo data of {PLAN.first} already"),
    ],
)
def test_the_command_says_what_it_cannot_do(arguments: tuple[str, ...], words: str, lake: Path, settings: Any) -> None:
    settings.TASKQ_LAKE_URL = str(lake)

    with pytest.raises(CommandError, match=words):
        call_command("demodata", *arguments)
