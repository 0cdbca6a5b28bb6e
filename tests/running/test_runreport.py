"""Reports by real Spark in real processes: at night, ended in the middle, nothing left running.

That the command makes a report, when all is well, is a test of tests/browser/test_reports.py.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from queues.services.reporting.making.due_days import can_compute
from tests.running.conftest import Site
from tests.running.processes import Family
from tests.support.reports import at, event, write_events
from tests.support.waiting import wait_until

SPARK: Final = "org.apache.spark.deploy.SparkSubmit"
SPARK_TIMEOUT_S: Final = 240.0
"""For a day's report: some 10 s on a machine that has nothing else to do, 180 s with two suites of tests beside it."""

SPARK_START_TIMEOUT_S: Final = 60.0
"""Two to three seconds alone; `runpump` starts it behind two more processes, at a priority that gives way to others."""

DAY: Final = date(2026, 3, 28)

pytestmark = pytest.mark.skipif(not can_compute(), reason="taskq is installed without its extra `reports`")


def data_dir(site: Site) -> Path:
    return Path(site.env["TASKQ_DATA_DIR"])


def fill_lake(site: Site, day: date = DAY, jobs: int = 4) -> None:
    """Jobs that wait 1, 2, 3, ... s, and are acked after 100 ms."""
    events = []
    for number in range(jobs):
        job, begun = f"01J{number:023d}", at(day, 9, minutes=number)
        common: dict[str, Any] = {"job": job, "published": begun}
        handed_out = begun + timedelta(seconds=number + 1)
        events += [
            event("published", begun, size=10, wait_ms=0, **common),
            event("consumed", handed_out, attempt=1, wait_ms=1_000 * (number + 1), **common),
            event("acked", handed_out + timedelta(milliseconds=100), attempt=1, run_ms=100, **common),
        ]
    write_events(data_dir(site) / "lake", events)


def ask(site: Site, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(data_dir(site) / "taskq.sqlite3", timeout=10)) as database:
        return database.execute(query).fetchall()


def days(site: Site) -> list[tuple[Any, ...]]:
    return ask(site, "SELECT date, state, failures, reported_at IS NOT NULL FROM queues_reportday ORDER BY date")


def test_told_to_stop_the_command_takes_spark_with_it(
    site: Site, family: Family, start: Callable[..., subprocess.Popen[str]]
) -> None:
    fill_lake(site)
    process = start("runreport", "--date", str(DAY))
    family.pid_of(SPARK, timeout_s=SPARK_START_TIMEOUT_S)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    assert process.returncode == 128 + signal.SIGTERM
    wait_without_spark(family)
    assert days(site) == [(str(DAY), "failed", 0, 0)]
    assert list((data_dir(site) / "reports").glob("date=*/run=*")) == []


def test_a_killed_command_leaves_no_spark_behind(
    site: Site, family: Family, start: Callable[..., subprocess.Popen[str]]
) -> None:
    fill_lake(site)
    process = start("runreport", "--date", str(DAY))
    family.pid_of(SPARK, timeout_s=SPARK_START_TIMEOUT_S)

    process.kill()

    wait_without_spark(family)
    assert days(site) == [(str(DAY), "running", 0, 0)]


def test_a_report_made_at_night_is_corrected_by_hand_and_stays_when_a_later_spark_is_killed(
    site: Site, family: Family, start: Callable[..., subprocess.Popen[str]]
) -> None:
    yesterday = ask(site, "SELECT date('now', '-1 day')")[0][0]
    fill_lake(site, date.fromisoformat(yesterday))
    site.env["TASKQ_REPORT_AT"] = "00:00"
    first = start("runpump")
    family.pid_of(SPARK, timeout_s=SPARK_START_TIMEOUT_S)

    first.send_signal(signal.SIGTERM)
    _out, errors = first.communicate(timeout=30)
    assert first.returncode == 0, errors
    wait_without_spark(family)
    assert days(site) == [(yesterday, "failed", 0, 0)]

    pumps = [start("runpump"), start("runpump")]
    wait_until(
        lambda: days(site) == [(yesterday, "done", 0, 1)], or_fail="no report is made", timeout_s=SPARK_TIMEOUT_S
    )
    for pump in pumps:
        pump.send_signal(signal.SIGTERM)
    said = [pump.communicate(timeout=30)[1] for pump in pumps]
    assert [pump.returncode for pump in pumps] == [0, 0]
    assert not any("status=1" in errors for errors in said), said
    runs = list((data_dir(site) / "reports" / f"date={yesterday}").glob("run=*"))
    assert len(runs) == 1
    assert ask(site, "SELECT events FROM queues_reportday") == [(12,)]
    columns = "queue, published, acked, wait_p50, wait_p95, run_p95, success_rate, backlog"
    rows = ask(site, f"SELECT {columns} FROM queues_queueday ORDER BY queue")
    assert rows == [
        ("", 4, 4, 2_000, 4_000, 100, 1.0, 0),
        ("emails", 4, 4, 2_000, 4_000, 100, 1.0, 0),
    ]

    before = date.fromisoformat(yesterday) - timedelta(days=1)
    write_events(data_dir(site) / "lake", [event("published", at(before, 10), job="01JLATE", queue="emails", size=1)])
    # By its date alone, the successor would be made by a second Spark: tests/metadata/test_report_successors.py.
    process = start("runreport", "--from", str(before), "--to", yesterday)
    _out, errors = process.communicate(timeout=2 * SPARK_TIMEOUT_S)
    assert process.returncode == 0, errors
    backlogs = ask(site, "SELECT day_id, backlog FROM queues_queueday WHERE queue != '' ORDER BY day_id")
    assert backlogs == [(str(before), 1), (yesterday, 1)], "the day after it had begun with a job too few"
    rows = ask(site, f"SELECT {columns} FROM queues_queueday ORDER BY day_id, queue")

    process = start("runreport", "--date", yesterday)
    os.kill(family.pid_of(SPARK, timeout_s=SPARK_START_TIMEOUT_S), signal.SIGKILL)
    _out, errors = process.communicate(timeout=SPARK_TIMEOUT_S)

    assert process.returncode == 1
    assert "Spark" in errors
    assert days(site) == [(str(before), "done", 0, 1), (yesterday, "failed", 1, 1)]
    assert ask(site, f"SELECT {columns} FROM queues_queueday ORDER BY day_id, queue") == rows
    wait_without_spark(family)


def wait_without_spark(family: Family) -> None:
    """Fail if a Spark still runs after a while."""
    wait_until(
        lambda: not any(SPARK in line or "queues.reports" in line for line in family.members().values()),
        or_fail="Spark still runs",
        timeout_s=20,
    )
