"""The command with a stand-alone Spark cluster, whose executor is a process of its own, for several days."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from queues.lake.demo import DemoPlan, demo_hours, write_demo
from tests.support.waiting import wait_until

from . import expected
from .commands import command, ended, start
from .daemons import spark_process
from .made import event, in_ms, ms, read_table, write_lake

DAYS = ("2026-03-29", "2026-03-30")
SMALL = (
    "--memory=512m",
    "--conf=spark.driver.memory=512m",
    "--conf=spark.sql.shuffle.partitions=2",
)
FILES = 205
"""So many that executors look at them."""

DEPLOY = "org.apache.spark.deploy"
URL = re.compile(r"spark://127\.0\.0\.1:\d+")


@pytest.fixture
def no_java_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the wheel's has to do. All that lies beside a Java in PATH stays there."""
    places = [Path(one) for one in os.environ["PATH"].split(os.pathsep) if one]
    tools = tmp_path / "tools"
    tools.mkdir()
    for place in places:
        if (place / "java").exists():
            for tool in place.iterdir():
                if tool.name != "java" and not (tools / tool.name).exists():
                    (tools / tool.name).symlink_to(tool.resolve())
    without = [str(place) for place in places if not (place / "java").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join([str(tools), *without]))
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.fixture
def master(tmp_path: Path, no_java_in_path: None) -> Iterator[str]:
    """The URL of a master with a worker that has room for an executor, all on loopback, on ports that were free."""
    words = (f"{DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(spark_process(tmp_path, "master", *words))
        wait_until(lambda: URL.search(log.read_text()) is not None, or_fail="no master", timeout_s=120)
        url = URL.findall(log.read_text())[0]
        place = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(tmp_path / "work"))
        size = ("--cores", "2", "--memory", "600m")
        stack.enter_context(spark_process(tmp_path, "worker", f"{DEPLOY}.worker.Worker", *place, *size, url))
        wait_until(lambda: "Registering worker" in log.read_text(), or_fail="no worker comes", timeout_s=120)
        yield url


def test_a_cluster_without_room_is_named_after_a_while(tmp_path: Path, no_java_in_path: None) -> None:
    words = (f"{DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    write_lake(tmp_path / "lake", [event("published", ms(DAYS[0]), job="01J", published=ms(DAYS[0]), size=1)])
    with spark_process(tmp_path, "master", *words) as log:
        wait_until(lambda: URL.search(log.read_text()) is not None, or_fail="no master", timeout_s=120)
        master = URL.findall(log.read_text())[0]
        options = (f"--master={master}", *SMALL, "--conf=spark.taskq.executorsWithinS=2")

        status, said, errors = ended(start(command(tmp_path / "lake", tmp_path / "out", DAYS[0], options=options)))

    assert status == 1, errors
    assert said[-1]["kind"] == "master_unreachable"
    assert "has given no executors for 2 s" in said[-1]["error"]


def test_several_days_have_the_rows_that_plain_python_gives_and_follow_on_each_other(
    master: str, tmp_path: Path
) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    plan = DemoPlan(first=date.fromisoformat(DAYS[0]), days=1, jobs_per_day=500)
    write_demo(str(lake), plan, tell=lambda day, events: None)
    later = event("published", ms(DAYS[1]), job="01J", published=ms(DAYS[1]), size=1)
    for number in range(FILES):
        write_lake(lake, [later], name=f"made-{number}.parquet")
    (lake / f"date={DAYS[1]}" / "hour=00" / "made-7.parquet").write_bytes(b"no Parquet")

    options = (f"--master={master}", *SMALL)
    status, said, errors = ended(start(command(lake, out, *reversed(DAYS), options=options)))

    assert status == 0, (said, errors)
    assert [line["date"] for line in said if line.get("stage") == "finished"] == list(DAYS)
    for day in DAYS:
        done = [line["done"] for line in said if line.get("date") == day and "done" in line]
        assert done == sorted(done)
        assert done[-1] == 100
    assert sorted(path.name for path in out.iterdir()) == ["cells", *(f"date={day}" for day in DAYS)]
    rows = [row for _, _, table in demo_hours(plan) for row in table.to_pylist()]
    expected.check_report(out, DAYS[0], today=[in_ms(row) for row in rows], before=[])
    expected.check_with_duckdb(lake, out, DAYS[0])
    summary = json.loads((out / f"date={DAYS[0]}" / "run=one" / "summary.json").read_text())
    assert summary["demo"] is True
    left = {
        row["queue"]: (row["backlog"], row["backlog_base_known"])
        for row in read_table(out, DAYS[0], "figures")
        if row["hour"] is None
    }
    assert {known for _, known in left.values()} == {True}
    of_later = {
        (row["queue"], row["hour"]): (row["backlog"], row["backlog_base_known"])
        for row in read_table(out, DAYS[1], "figures")
        if row["namespace"] == later["namespace"]
    }
    assert of_later == {(queue, hour): (FILES - 1, True) for queue in (later["queue"], "") for hour in (0, None)}
    carried = {
        row["queue"]: (row["backlog"], row["backlog_base_known"])
        for row in read_table(out, DAYS[1], "figures")
        if row["namespace"] != later["namespace"]
    }
    assert carried == {queue: backlog for queue, backlog in left.items() if backlog[0]}
    (app,) = (tmp_path / "work").glob("app-*")
    assert [path.name for path in app.iterdir()] == ["0"], "there was no executor"
    assert "hour=00/made-7.parquet" in (app / "0" / "stderr").read_text(), "no executor looked at a file left out"
