"""What analysts use, on a fresh demo lake: DuckDB views beside Spark's tables, the tables' schema, the notebook."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from queues.lake.demo import DemoPlan, write_demo
from queues.lake.schema import Column
from queues.reports import schema
from tests.package.wheel import ROOT
from tests.support.notebook import Ran, run_notebook

from .conftest import RunDay

DOCS = ROOT / "docs" / "data"
PLAN = DemoPlan(first=date(2026, 3, 4), days=9, jobs_per_day=600)
"""The bad deploy is on the last day but one, which has the same weekday as the first."""

DAY = PLAN.first + timedelta(days=PLAN.days - 1)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("analysts") / "lake"
    write_demo(str(place), PLAN, tell=lambda day, events: None)
    return place


@pytest.fixture(scope="module")
def reports(lake: Path, run_day: RunDay) -> Path:
    """A report that counts, and a run beside it that does not."""
    out = lake.parent / "reports"
    summary = run_day(lake, out, f"{DAY}", run="good")
    assert summary[schema.VERSION_KEY] == schema.VERSION
    (out / f"date={DAY}" / "current.json").write_text('{"run": "good"}')
    other = out / f"date={DAY}" / "run=unfinished" / "figures.parquet"
    other.mkdir(parents=True)
    (other / "part-0.parquet").write_bytes(b"half a file")
    return out


@pytest.fixture(scope="module")
def views(lake: Path, reports: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET VARIABLE lake = ?", [str(lake)])
    connection.execute("SET VARIABLE reports = ?", [str(reports)])
    for name in ("views.sql", "report-views.sql"):
        connection.execute((DOCS / name).read_text(encoding="utf-8"))
    return connection


@pytest.fixture(scope="module")
def notebook(lake: Path) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKQ_LAKE_URL", str(lake))
        patch.chdir(ROOT)
        return run_notebook(DOCS / "explore.ipynb")


def test_queue_days_says_what_the_report_says(views: duckdb.DuckDBPyConnection) -> None:
    """Each figure that both have, of each queue and namespace."""
    names = [row[0] for row in views.execute("DESCRIBE queue_days").fetchall()]
    told = {row[0] for row in views.execute("DESCRIBE report_figures").fetchall()}
    both = [name for name in names if name in told and not name.endswith("_mean")]
    assert {"published", "retried", "deleted", "bytes", "wait_p99", "run_max", "run_count", "success_rate"} <= {*both}
    listed = ", ".join(both)

    ours = views.execute(f"SELECT {listed} FROM queue_days WHERE date = ? ORDER BY queue", [DAY]).fetchall()
    theirs = views.execute(f"SELECT {listed} FROM report_figures WHERE hour IS NULL ORDER BY queue").fetchall()
    means = "round(wait_mean, 6), round(run_mean, 6)"

    assert len(ours) > 5
    assert ours == theirs
    assert (
        views.execute(f"SELECT {means} FROM queue_days WHERE date = ? ORDER BY queue", [DAY]).fetchall()
        == views.execute(f"SELECT {means} FROM report_figures WHERE hour IS NULL ORDER BY queue").fetchall()
    )


def test_every_event_is_of_a_job_and_every_failure_of_a_delivery(views: duckdb.DuckDBPyConnection) -> None:
    events = "SELECT count(*) FROM events WHERE kind = 'consumed'"
    failed = "SELECT count(*) FROM failures WHERE kind = 'failed'"

    assert views.execute("SELECT sum(deliveries) FROM jobs").fetchall() == views.execute(events).fetchall()
    assert views.execute("SELECT count(*) FROM deliveries").fetchall() == views.execute(events).fetchall()
    assert (
        views.execute("SELECT count(*) FROM deliveries WHERE outcome = 'failed'").fetchall()
        == views.execute(failed).fetchall()
    )


@pytest.mark.parametrize("table", schema.TABLES)
def test_report_tables_have_the_columns_that_are_published(reports: Path, table: str) -> None:
    found = pq.read_table(reports / f"date={DAY}" / "run=good" / f"{table}.parquet")

    assert [(field.name, str(field.type)) for field in found.schema] == [
        (column.name, _arrow_name(column)) for column in schema.TABLES[table]
    ]
    nulls = {name for name in found.column_names if found[name].null_count}
    assert nulls <= {column.name for column in schema.TABLES[table] if column.nullable}
    keys = found.select(schema.PRIMARY_KEYS[table]).to_pylist()
    assert len({tuple(key.items()) for key in keys}) == len(keys)


def test_a_view_is_made_of_each_report_table(views: duckdb.DuckDBPyConnection) -> None:
    counts = {
        table: views.execute(f"SELECT count(*), any_value(run) FROM report_{table}").fetchall()[0]
        for table in schema.TABLES
    }

    assert {table for table, (count, _) in counts.items() if not count} == {"changes"}  # no past week has a report
    assert {run for _, run in counts.values()} == {"good", None}


def test_the_notebook_finds_the_bad_deploy(notebook: Ran) -> None:
    worst = PLAN.incidents[0].day

    assert f"{worst:%A} {worst}: " in notebook.printed
    assert f"of 8 queues, {PLAN.first} to {DAY}" in notebook.printed
    assert "gaps: 0" in notebook.printed
    assert " events; 0 damaged" in notebook.printed.splitlines()[0]


def test_the_notebook_draws_something_in_each_chart(notebook: Ran) -> None:
    drawn = [axes for chart in notebook.charts for axes in chart.axes]

    assert len(drawn) >= 9
    assert [axes.get_title(loc="left") for axes in drawn if not axes.has_data()] == []


def _arrow_name(column: Column) -> str:
    special: dict[Any, str] = {"timestamp_ms": "timestamp[ms, tz=UTC]"}
    return special.get(column.type, column.type)
